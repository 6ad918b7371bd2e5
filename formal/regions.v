(** Noisy counts of regions that are chosen by the noisy counts before.

    A table holds a number of records in each cell. After a history [h] the mechanism counts the
    records of the region [next h] and publishes the count with noise: the outcome [o] of a true
    count [n] has probability [law h n o].
    - Budgets of paths (docs/understand/proofs/adaptive_tree.md, Lemma 2 and Theorem): if along every
      transcript the rates of the regions that hold a cell multiply to at most [B], one record more
      in that cell changes the probability of no transcript by more than [B]; the same for moments.
    - Adaptive parallel composition (adaptive_scan.md, Lemma 3; rank_split.md, Lemma 1): if the
      regions of each transcript are disjoint, then [B] is the rate of a single count; and for
      tables that are [s] cells apart its [s]-th power. *)

From mathcomp Require Import all_ssreflect all_algebra.
From dphist_formal Require Import transcripts.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Regions.
Variables (R : realFieldType) (cell : finType) (outcome : Type).
Variable next : seq outcome -> {set cell}.

Definition table := {ffun cell -> nat}.

Definition count (x : table) (region : {set cell}) : nat := \sum_(c in region) x c.

(** [y] has one record more than [x], in the cell [c]. *)
Definition adds (x : table) (c : cell) (y : table) := forall d, y d = (x d + (d == c))%N.

Lemma count_adds x c y region : adds x c y -> count y region = (count x region + (c \in region))%N.
Proof.
move=> xy; rewrite /count (eq_bigr (fun d => x d + (d == c))%N) => [|d _]; last exact: xy.
rewrite big_split /=; congr addn; case: (boolP (c \in region)) => [inside|outside].
  by rewrite (bigD1 c) //= eqxx big1 // => d /andP[_ /negPf ->].
by rewrite big1 // => d inside; case: eqP outside => // <-; rewrite inside.
Qed.

(** * Budgets of paths *)

Variables (law : seq outcome -> nat -> outcome -> R) (rate : seq outcome -> R).
Hypothesis law_ge0 : forall h n o, 0 <= law h n o.
(** One record more or less changes the probability of an outcome by at most the rate. *)
Hypothesis law_up : forall h n o, law h n o <= rate h * law h n.+1 o.
Hypothesis law_down : forall h n o, law h n.+1 o <= rate h * law h n o.

(** The probability of a transcript. *)
Definition prob (x : table) := along (fun h o => law h (count x (next h)) o) [::].

(** What a transcript charges to a cell. *)
Definition charged (c : cell) := along (fun h (_ : outcome) => if c \in next h then rate h else 1).

Theorem path_budget x c y B t :
  adds x c y -> charged c [::] t <= B -> prob x t <= B * prob y t /\ prob y t <= B * prob x t.
Proof.
move=> xy budget; split; apply: (factor_filter _ _ _ budget) => h o //;
  by rewrite (count_adds _ xy); case: ifP => _; rewrite ?addn1 ?addn0 ?mul1r.
Qed.

(** * Adaptive parallel composition *)

Variable r : R.
Hypothesis r_ge1 : 1 <= r.
Hypothesis same_rate : forall h, rate h = r.

(** The regions that are counted before the outcomes of [t]. *)
Fixpoint regions h t : seq {set cell} :=
  if t is o :: t' then next h :: regions (rcons h o) t' else [::].

Definition disjoint_regions t := pairwise (fun A B : {set cell} => [disjoint A & B]) (regions [::] t).

Lemma charged_outside c h t :
  all (fun region : {set cell} => c \notin region) (regions h t) -> charged c h t = 1.
Proof.
elim: t h => [|o t IH] h //= /andP[/negPf outside rest].
by rewrite /charged /= outside mul1r; exact: IH.
Qed.

Lemma charged_disjoint c h t :
  pairwise (fun A B : {set cell} => [disjoint A & B]) (regions h t) -> charged c h t <= r.
Proof.
elim: t h => [|o t IH] h //= /andP[apart rest].
rewrite /charged /=; case: ifP => inside; last by rewrite mul1r; exact: IH.
rewrite same_rate [X in _ * X](_ : _ = 1) ?mulr1 //; apply: charged_outside.
by apply: sub_all apart => region /disjointFr -> //.
Qed.

Theorem adaptive_parallel_composition x c y t :
  adds x c y -> disjoint_regions t -> prob x t <= r * prob y t /\ prob y t <= r * prob x t.
Proof. by move=> xy /charged_disjoint-/(_ c); exact: path_budget. Qed.

(** Tables [s] cells apart: [s] steps, each of one record more or less in one cell. *)
Fixpoint apart s (x y : table) : Prop :=
  if s is s'.+1 then exists2 z, (exists c, adds x c z \/ adds z c x) & apart s' z y else x = y.

Theorem adaptive_parallel_composition_cells s x y t :
  apart s x y -> disjoint_regions t ->
  prob x t <= r ^+ s * prob y t /\ prob y t <= r ^+ s * prob x t.
Proof.
move=> xy disjoint; elim: s x xy => [|s IH] x /=; first by move=> ->; rewrite expr0 !mul1r.
case=> z [c step] /IH[zy yz].
have [xz zx] : prob x t <= r * prob z t /\ prob z t <= r * prob x t.
  by case: step => step; have [] := adaptive_parallel_composition step disjoint.
have r0 : 0 <= r by exact: le_trans r_ge1.
split; first by rewrite exprS -mulrA (le_trans xz) // ler_wpmul2l.
by rewrite exprSr -mulrA (le_trans yz) // ler_wpmul2l ?exprn_ge0.
Qed.

End Regions.

(** * Budgets of paths in moments

    The same for [moment_filter]: the moment of one count that a record changes is at most [cost],
    and that of a count that it does not change is at most 1. *)

Section RegionMoments.
Variables (R : realFieldType) (cell outcome : finType).
Variable next : seq outcome -> {set cell}.
Variables (law : seq outcome -> nat -> outcome -> R) (cost : seq outcome -> R) (phi : R -> R -> R).
Hypothesis phi_1 : phi 1 1 = 1.
Hypothesis phi_ge0 : forall a b, 0 <= phi a b.
Hypothesis phi_mul : forall a b c d, phi (a * b) (c * d) = phi a c * phi b d.
Hypothesis cost_gt0 : forall h, 0 < cost h.
Hypothesis moment_same : forall h n, \sum_o phi (law h n o) (law h n o) <= 1.
Hypothesis moment_up : forall h n, \sum_o phi (law h n o) (law h n.+1 o) <= cost h.
Hypothesis moment_down : forall h n, \sum_o phi (law h n.+1 o) (law h n o) <= cost h.

Theorem path_budget_moments x c y n B :
    adds x c y -> 0 <= B ->
    (forall t : n.-tuple outcome, charged next cost c [::] t <= B) ->
  \sum_(t : n.-tuple outcome) phi (prob next law x t) (prob next law y t) <= B /\
  \sum_(t : n.-tuple outcome) phi (prob next law y t) (prob next law x t) <= B.
Proof.
move=> xy B0 budget.
have cost0 h : 0 < (if c \in next h then cost h else 1) by case: ifP => _; rewrite ?ltr01.
by split; apply: (moment_filter phi_1 phi_ge0 phi_mul cost0 _ B0 budget) => h;
  rewrite (count_adds _ xy); case: ifP => _; rewrite ?addn1 ?addn0.
Qed.

End RegionMoments.
