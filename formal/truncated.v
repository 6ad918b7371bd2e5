(** Noise that ends: docs/understand/proofs/bounded_noise.md, Lemma 2.

    The noise of a count takes the values -k .. k, with chances proportional to a^|x|. A user raises
    the counts of [m] labels, each by at most [c <= k]. With d = Pr[noise > k - c] all noisy counts
    together are (a^(- m c), 1 - (1 - d)^m)-indistinguishable, both ways, and no smaller delta holds
    where all are raised by [c]. Noisy values stand here shifted by [k], so that they are at least 0. *)

From mathcomp Require Import all_ssreflect all_algebra ring zify.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** * Products of laws that overlap *)

Section Overlaps.
Variables (R : realFieldType) (labels values : finType).
Variables (P Q : labels -> values -> R) (inside : labels -> pred values) (r : labels -> R) (d : R).
Hypothesis P_ge0 : forall i v, 0 <= P i v.
Hypothesis Q_ge0 : forall i v, 0 <= Q i v.
Hypothesis P_law : forall i, \sum_v P i v = 1.
Hypothesis r_ge0 : forall i, 0 <= r i.
Hypothesis ratio : forall i v, inside i v -> P i v <= r i * Q i v.
Hypothesis d_le1 : d <= 1.
Hypothesis mass : forall i, 1 - d <= \sum_(v | inside i v) P i v.

Definition together (L : labels -> values -> R) (y : {ffun labels -> values}) := \prod_i L i (y i).
Definition all_inside (y : {ffun labels -> values}) := [forall i, inside i (y i)].

Lemma mass_inside :
  \sum_(y | all_inside y) together P y = \prod_i \sum_(v | inside i v) P i v.
Proof. by rewrite bigA_distr_big_dep; apply: eq_bigl => y; apply/forallP/familyP. Qed.

Lemma mass_all : \sum_y together P y = 1.
Proof. by rewrite -bigA_distr_bigA big1. Qed.

Theorem overlaps (E : pred {ffun labels -> values}) :
  \sum_(y | E y) together P y <=
  (\prod_i r i) * (\sum_(y | E y) together Q y) + (1 - (1 - d) ^+ #|labels|).
Proof.
have P0 y : 0 <= together P y by apply: prodr_ge0.
have Q0 y : 0 <= together Q y by apply: prodr_ge0.
rewrite (bigID all_inside) /= ler_add //.
  rewrite mulr_sumr [X in _ <= X](bigID all_inside) /= -[X in X <= _]addr0 ler_add //; last first.
    by apply: sumr_ge0 => y _; rewrite mulr_ge0 // prodr_ge0.
  apply: ler_sum => y /andP[_ /forallP here]; rewrite -big_split /=.
  by apply: ler_prod => i _; rewrite P_ge0 ratio.
apply: (@le_trans _ _ (\sum_(y | ~~ all_inside y) together P y)).
  rewrite [X in _ <= X](bigID E) /= (eq_bigl _ _ (fun y => andbC _ _)) ler_addl.
  by apply: sumr_ge0.
have := mass_all; rewrite (bigID all_inside) /= => /(canRL (addKr _)) ->.
rewrite addrC ler_add2l ler_opp2 mass_inside.
apply: (@le_trans _ _ (\prod_(i : labels) (1 - d))); first by rewrite prodr_const.
by apply: ler_prod => i _; rewrite subr_ge0 d_le1 mass.
Qed.

End Overlaps.

(** * The law of the noise *)

Section Truncated.
Variables (R : realFieldType) (a : R) (k : nat).
Hypothesis a_gt0 : 0 < a.
Hypothesis a_lt1 : a < 1.

Definition distance (x y : nat) : nat := (x - y) + (y - x).

(** Value [j] stands for noise of [j - k]. *)
Definition weight j : R := a ^+ distance j k.
Definition whole : R := \sum_(0 <= j < (2 * k).+1) weight j.

(** The chance that a count of [n] becomes the value [v], which stands for [v - k]. *)
Definition law (n v : nat) : R := if (n <= v <= n + 2 * k)%N then weight (v - n) / whole else 0.

(** Pr[noise > k - t], which is also Pr[noise < t - k]. *)
Definition tail t : R := (\sum_(0 <= j < t) weight j) / whole.

Lemma weight_gt0 j : 0 < weight j. Proof. exact: exprn_gt0. Qed.

Lemma whole_gt0 : 0 < whole.
Proof.
rewrite /whole big_nat_recl // ltr_paddr ?weight_gt0 //.
by apply: sumr_ge0 => j _; rewrite ltW ?weight_gt0.
Qed.

Lemma law_ge0 n v : 0 <= law n v.
Proof. by rewrite /law; case: ifP => // _; rewrite divr_ge0 ?ltW ?weight_gt0 ?whole_gt0. Qed.

Lemma weight_sym j : (j <= 2 * k)%N -> weight (2 * k - j) = weight j.
Proof. by move=> small; rewrite /weight; congr (a ^+ _); rewrite /distance; lia. Qed.

Lemma weight_ratio i j t :
  (i <= j + t)%N -> (j <= i + t)%N -> weight i <= (a ^+ t)^-1 * weight j.
Proof.
move=> ij ji; rewrite mulrC ler_pdivl_mulr ?exprn_gt0 // /weight -exprD.
by rewrite ler_wiexpn2l ?ltW // /distance; clear -ij ji; lia.
Qed.

(** All that a count of [n] may become lies below [N]. *)
Lemma sum_law (g : pred nat) n N : (n + 2 * k < N)%N ->
  \sum_(v < N | g v) law n v = (\sum_(0 <= j < (2 * k).+1 | g (n + j)%N) weight j) / whole.
Proof.
move=> room; rewrite -(big_mkord g (law n)).
rewrite (@big_cat_nat _ _ _ n) //=; last by lia.
rewrite (@big_cat_nat _ _ _ (n + (2 * k).+1) n N) /=; [|lia|lia].
rewrite [X in X + _]big_nat_cond [X in X + _]big1 ?add0r => [|v /andP[/andP[_ small] _]]; last first.
  by rewrite /law leqNgt small.
rewrite [X in _ + X]big_nat_cond [X in _ + X]big1 ?addr0 => [|v /andP[/andP[large _] _]]; last first.
  by rewrite /law; case: ifP => //; lia.
rewrite -{1}[n]add0n big_addn addKn mulr_suml big_nat_cond [RHS]big_nat_cond.
apply: eq_big => [j|j /andP[/andP[_ small] _]]; first by rewrite addnC.
by rewrite /law addnK; case: ifP => //; lia.
Qed.

Lemma law_1 n N : (n + 2 * k < N)%N -> \sum_(v < N) law n v = 1.
Proof. by move=> room; rewrite (sum_law xpredT) // divff // gt_eqF ?whole_gt0. Qed.

(** Off the overlap of the laws of [n] and [n + t] each of them has the mass [tail t]. *)
Lemma mass_above n t N : (t <= 2 * k)%N -> (n + 2 * k < N)%N ->
  \sum_(v < N | (n + t <= v)%N) law n v = 1 - tail t.
Proof.
move=> small room; rewrite (sum_law (leq (n + t))) //.
rewrite -[X in X - _](divff (lt0r_neq0 whole_gt0)) -mulrBl; congr (_ / _).
rewrite /whole [in RHS](@big_cat_nat _ _ _ t) //= ?addKr; last by lia.
rewrite [RHS]addrC addKr [LHS](@big_cat_nat _ _ _ t) //=; last by lia.
rewrite big_nat_cond big_pred0 ?add0r => [|j]; last by lia.
by rewrite big_nat_cond [RHS]big_nat_cond; apply: eq_bigl => j; lia.
Qed.

Lemma mass_below n t N : (t <= 2 * k)%N -> (n + t + 2 * k < N)%N ->
  \sum_(v < N | (v <= n + 2 * k)%N) law (n + t) v = 1 - tail t.
Proof.
move=> small room; rewrite (sum_law (fun v => v <= n + 2 * k)%N) //.
rewrite -[X in X - _](divff (lt0r_neq0 whole_gt0)) -mulrBl; congr (_ / _).
have -> : \sum_(0 <= j < t) weight j = \sum_((2 * k).+1 - t <= j < (2 * k).+1) weight j.
  rewrite -[((2 * k).+1 - t)%N in RHS]add0n big_addn big_nat_rev /=.
  rewrite (_ : ((2 * k).+1 - ((2 * k).+1 - t) = t)%N); last by lia.
  rewrite big_nat_cond [RHS]big_nat_cond; apply: eq_bigr => j /andP[/andP[_ jt] _].
  by rewrite -weight_sym; [congr weight; lia | lia].
rewrite /whole [in RHS](@big_cat_nat _ _ _ ((2 * k).+1 - t)) //=; last by lia.
rewrite addrK [LHS](@big_cat_nat _ _ _ ((2 * k).+1 - t)) //=; last by lia.
rewrite [X in _ + X]big_nat_cond [X in _ + X]big_pred0 ?addr0 => [|j /=]; last by lia.
by rewrite big_nat_cond [RHS]big_nat_cond; apply: eq_bigl => j /=; lia.
Qed.

Lemma tail_le s t : (s <= t)%N -> tail s <= tail t.
Proof.
move=> st; rewrite /tail ler_pmul2r ?invr_gt0 ?whole_gt0 //.
rewrite (@big_cat_nat _ _ _ s _ t) //= ler_addl.
by apply: sumr_ge0 => j _; rewrite ltW ?weight_gt0.
Qed.

Lemma tail_le1 t : (t <= 2 * k)%N -> tail t <= 1.
Proof.
move=> small; rewrite -subr_ge0 -(@mass_above 0 t (2 * k).+1) ?sumr_ge0 // => v _.
exact: law_ge0.
Qed.

(** The closed form of the page: d = a^(k - t + 1) (1 - a^t) / (1 + a - 2 a^(k + 1)). *)
Lemma first_weights t : (t <= k)%N ->
  (\sum_(0 <= j < t) weight j) * (1 - a) = a ^+ (k - t).+1 * (1 - a ^+ t).
Proof.
elim: t => [|t IH] small; first by rewrite big_geq // mul0r expr0 subrr mulr0.
rewrite big_nat_recr //= mulrDl IH; last by lia.
have -> : weight t = a ^+ (k - t) by rewrite /weight; congr (a ^+ _); rewrite /distance; lia.
have -> : (k - t = (k - t.+1).+1)%N by lia.
by rewrite !exprS; ring.
Qed.

Lemma whole_closed : whole * (1 - a) = 1 + a - 2%:R * a ^+ k.+1.
Proof.
have -> : whole = 2%:R * (\sum_(0 <= j < k) weight j) + 1.
  rewrite /whole (@big_cat_nat _ _ _ k) //=; last by lia.
  rewrite [X in _ + X]big_ltn; last by lia.
  have -> : weight k = 1 by rewrite /weight /distance subnn addn0 expr0.
  have -> : \sum_(k.+1 <= j < (2 * k).+1) weight j = \sum_(0 <= j < k) weight j; last first.
    by rewrite mulr_natl mulr2n addrCA addrC.
  rewrite -[k.+1 in LHS]add0n big_addn big_nat_rev /=.
  rewrite (_ : ((2 * k).+1 - k.+1 = k)%N); last by lia.
  rewrite big_nat_cond [RHS]big_nat_cond; apply: eq_bigr => j /andP[/andP[_ small] _].
  by rewrite -weight_sym; [congr weight; lia | lia].
rewrite mulrDl mul1r -mulrA first_weights // subnn expr1 exprS; ring.
Qed.

Theorem tail_closed t : (t <= k)%N ->
  tail t = a ^+ (k - t).+1 * (1 - a ^+ t) / (1 + a - 2%:R * a ^+ k.+1).
Proof.
move=> small; rewrite -first_weights // -whole_closed /tail invfM mulrACA divff ?mulr1 //.
by rewrite subr_eq0 eq_sym lt_eqF.
Qed.

(** * Neighbors: a user raises the counts [n i] of [m] labels by [t i] *)

Variables (m c N : nat) (n t : 'I_m -> nat).
Hypothesis c_le : (c <= 2 * k)%N.
Hypothesis t_le : forall i, (t i <= c)%N.
Hypothesis room : forall i, (n i + t i + 2 * k < N)%N.

Let without (i : 'I_m) (v : 'I_N) := law (n i) v.
Let with_user (i : 'I_m) (v : 'I_N) := law (n i + t i) v.
Let delta := 1 - (1 - tail c) ^+ m.
Let factor := \prod_(i < m) (a ^+ t i)^-1.

Theorem truncated_up (E : pred {ffun 'I_m -> 'I_N}) :
  \sum_(y | E y) together without y <= factor * (\sum_(y | E y) together with_user y) + delta.
Proof.
have -> : delta = 1 - (1 - tail c) ^+ #|'I_m| by rewrite card_ord.
apply: (overlaps (inside := fun i (v : 'I_N) => (n i + t i <= v)%N)).
- by move=> i v; exact: law_ge0.
- by move=> i v; exact: law_ge0.
- by move=> i; apply: law_1; have := room i; lia.
- by move=> i; rewrite invr_ge0 exprn_ge0 // ltW.
- move=> i v inside; rewrite /without /with_user /law.
  case: ifP => [here|_]; last by rewrite mulr_ge0 ?invr_ge0 ?exprn_ge0 ?(ltW a_gt0) ?law_ge0.
  case: ifP => [_|]; last by lia.
  rewrite mulrA ler_pmul2r ?invr_gt0 ?whole_gt0 //.
  by apply: weight_ratio; lia.
- exact: tail_le1.
- move=> i; rewrite mass_above; first by rewrite ler_add2l ler_opp2 tail_le.
    by have := t_le i; lia.
  by have := room i; lia.
Qed.

Theorem truncated_down (E : pred {ffun 'I_m -> 'I_N}) :
  \sum_(y | E y) together with_user y <= factor * (\sum_(y | E y) together without y) + delta.
Proof.
have -> : delta = 1 - (1 - tail c) ^+ #|'I_m| by rewrite card_ord.
apply: (overlaps (inside := fun i (v : 'I_N) => (v <= n i + 2 * k)%N)).
- by move=> i v; exact: law_ge0.
- by move=> i v; exact: law_ge0.
- by move=> i; apply: law_1; exact: room.
- by move=> i; rewrite invr_ge0 exprn_ge0 // ltW.
- move=> i v inside; rewrite /without /with_user /law.
  case: ifP => [here|_]; last by rewrite mulr_ge0 ?invr_ge0 ?exprn_ge0 ?(ltW a_gt0) ?law_ge0.
  case: ifP => [_|]; last by lia.
  rewrite mulrA ler_pmul2r ?invr_gt0 ?whole_gt0 //.
  by apply: weight_ratio; lia.
- exact: tail_le1.
- move=> i; rewrite mass_below; first by rewrite ler_add2l ler_opp2 tail_le.
    by have := t_le i; lia.
  exact: room.
Qed.

(** The factor is at most a^(- m c). *)
Lemma factor_le : factor <= (a ^+ (m * c))^-1.
Proof.
rewrite mulnC exprM -exprVn -[X in _ <= _ ^+ X]card_ord -prodr_const.
apply: ler_prod => i _; rewrite invr_ge0 exprn_ge0 ?(ltW a_gt0) //=.
by rewrite lef_pinv ?posrE ?exprn_gt0 // ler_wiexpn2l ?(ltW a_gt0) ?(ltW a_lt1).
Qed.

(** No smaller delta holds: where every count is raised by [c], an event that cannot happen with
    the user has the probability [delta] without. *)
Theorem truncated_exact : (forall i, t i = c) ->
  exists E : pred {ffun 'I_m -> 'I_N},
    \sum_(y | E y) together with_user y = 0 /\ \sum_(y | E y) together without y = delta.
Proof.
move=> all_c; pose inside i (v : 'I_N) := (n i + t i <= v)%N.
exists (fun y => ~~ all_inside inside y); split.
  apply: big1 => y; rewrite negb_forall => /existsP[i].
  rewrite /inside => /negPf outside.
  by rewrite /together (bigD1 i) //= /with_user /law outside mul0r.
have law1 i : \sum_v without i v = 1 by apply: law_1; have := room i; lia.
have := mass_all law1; rewrite (bigID (all_inside inside)) /= => /(canRL (addKr _)) ->.
rewrite addrC mass_inside; congr (_ - _).
rewrite -[in RHS](card_ord m) -prodr_const; apply: eq_bigr => i _.
by rewrite mass_above ?all_c //; have := room i; rewrite ?all_c; lia.
Qed.

End Truncated.
