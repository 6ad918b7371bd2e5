(** Bounding what a user contributes: docs/understand/proofs/bounding.md, Lemmas 1 and 2.

    A row of [data] says how many records a user has of each label. With the key fixed, [keep u]
    chooses labels of a user from this user's own records, at most [max_labels] of them; each label
    kept adds at most [max_count], and sums stop at [top]. *)

From mathcomp Require Import all_ssreflect all_algebra.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Bounding.
Variables (user label : finType) (max_labels max_count top : nat).

Definition records := {ffun label -> nat}.
Definition data := {ffun user -> records}.

Variable keep : user -> records -> {set label}.
Hypothesis keep_few : forall u r, #|keep u r| <= max_labels.

Definition adds (u : user) (r : records) (l : label) : nat :=
  if l \in keep u r then minn (r l) max_count else 0.

Definition counts (d : data) (l : label) : nat := minn (\sum_u adds u (d u) l) top.

(** [d'] is [d] without the records of the user [u]. *)
Definition without (u : user) (d : data) : data :=
  [ffun v => if v == u then [ffun => 0] else d v].

Lemma adds_nothing u l : adds u [ffun => 0] l = 0.
Proof. by rewrite /adds ffunE min0n if_same. Qed.

Lemma sum_without u (d : data) l :
  \sum_v adds v (d v) l = adds u (d u) l + \sum_v adds v (without u d v) l.
Proof.
rewrite (bigD1 u) //= [in RHS](bigD1 u) //= ffunE eqxx adds_nothing add0n; congr (_ + _).
by apply: eq_bigr => v /negPf other; rewrite ffunE other.
Qed.

(** One user changes each count by at most [max_count], never makes one smaller, ... *)
Theorem one_user_each_count u (d : data) l :
  counts (without u d) l <= counts d l <= counts (without u d) l + max_count.
Proof.
rewrite /counts (sum_without u d) /=; apply/andP; split.
  rewrite leq_min geq_minr andbT; apply: leq_trans (geq_minl _ _) _.
  exact: leq_addl.
have added : adds u (d u) l <= max_count by rewrite /adds; case: ifP => _ //; exact: geq_minr.
rewrite addn_minl leq_min; apply/andP; split; last first.
  by apply: leq_trans (geq_minr _ _) _; exact: leq_addr.
by apply: leq_trans (geq_minl _ _) _; rewrite addnC leq_add2l.
Qed.

(** ... and changes at most [max_labels] of them. *)
Theorem one_user_few_counts u (d : data) :
  #|[set l | counts d l != counts (without u d) l]| <= max_labels.
Proof.
apply: leq_trans (keep_few u (d u)); apply: subset_leq_card; apply/subsetP => l.
rewrite inE; apply: contraR => /negPf not_kept.
by rewrite /counts (sum_without u d) /adds not_kept add0n.
Qed.

End Bounding.

(** A random key that does not depend on the data costs nothing: what holds for every key holds
    for their mixture. *)
Section RandomKey.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.
Variables (R : realFieldType) (key : finType) (chance P Q : key -> R) (B D : R).
Hypothesis chance_ge0 : forall k, 0 <= chance k.
Hypothesis chance_1 : \sum_k chance k = 1.

Theorem random_key :
    (forall k, P k <= B * Q k + D) ->
  \sum_k chance k * P k <= B * (\sum_k chance k * Q k) + D.
Proof.
move=> each; apply: (@le_trans _ _ (\sum_k chance k * (B * Q k + D))).
  by apply: ler_sum => k _; rewrite ler_wpmul2l.
under eq_bigr do rewrite mulrDr mulrCA.
by rewrite big_split /= -mulr_sumr -mulr_suml chance_1 mul1r.
Qed.

End RandomKey.
