(** Counts that are asked for one after another, each chosen by the noisy counts before it.

    Three pages of proofs rest on this file: adaptive parallel composition (docs/understand/proofs/
    adaptive_scan.md, Lemma 3), the budget of paths (adaptive_tree.md, Theorem) and the filters of a
    ledger (ledger.md, Lemmas 2 and 3). Everything is finite; [R] is any ordered field, such as the
    rational numbers or the reals. *)

From mathcomp Require Import all_ssreflect all_algebra ring.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** * Along a transcript

    A history lists the outcomes so far. [along f h t] multiplies [f] of each history in [h ++ t]
    before an outcome of [t] and of that outcome. *)

Section Along.
Variables (R : realFieldType) (outcome : Type).

Fixpoint along (f : seq outcome -> outcome -> R) h t : R :=
  if t is o :: t' then f h o * along f (rcons h o) t' else 1.

Lemma along_ge0 f h t : (forall h o, 0 <= f h o) -> 0 <= along f h t.
Proof. by move=> f0; elim: t h => [|o t IH] h /=; rewrite ?ler01 ?mulr_ge0. Qed.

Lemma along_gt0 f h t : (forall h o, 0 < f h o) -> 0 < along f h t.
Proof. by move=> f0; elim: t h => [|o t IH] h /=; rewrite ?ltr01 ?mulr_gt0. Qed.

Lemma along_const (r : R) h t : along (fun _ _ => r) h t = r ^+ size t.
Proof. by elim: t h => [|o t IH] h //=; rewrite IH exprS. Qed.

End Along.

(** * A filter for factors

    Two laws give an outcome after a history the probabilities [p] and [q]. After each history [p]
    is at most [rate] times [q], where the rate is known before the outcome. If the rates of a
    transcript multiply to at most [B], its probability under [p] is at most [B] times that under
    [q]. A rate is e^epsilon: rule (a) of a ledger, and the budget of a path. *)

Section FactorFilter.
Variables (R : realFieldType) (outcome : Type).
Variables (p q : seq outcome -> outcome -> R) (rate : seq outcome -> R).
Hypothesis p_ge0 : forall h o, 0 <= p h o.
Hypothesis q_ge0 : forall h o, 0 <= q h o.
Hypothesis p_le : forall h o, p h o <= rate h * q h o.

Lemma along_rate h t :
  along p h t <= along (fun h _ => rate h) h t * along q h t.
Proof.
elim: t h => [|o t IH] h /=; first by rewrite mulr1.
rewrite mulrACA ler_pmul ?p_ge0 ?p_le ?IH ?along_ge0 //.
Qed.

Theorem factor_filter B t :
  along (fun h _ => rate h) [::] t <= B -> along p [::] t <= B * along q [::] t.
Proof.
move=> budget; apply: (le_trans (along_rate _ _)).
by rewrite ler_wpmul2r // along_ge0.
Qed.

(** The same for a finite list of transcripts, whatever the others cost. *)
Theorem factor_filter_event B (ts : seq (seq outcome)) :
    all (fun t => along (fun h _ => rate h) [::] t <= B) ts ->
  \sum_(t <- ts) along p [::] t <= B * (\sum_(t <- ts) along q [::] t).
Proof.
elim: ts => [|t ts IH] /=; first by rewrite !big_nil mulr0.
by case/andP=> here rest; rewrite !big_cons mulrDr ler_add ?factor_filter ?IH.
Qed.

End FactorFilter.

(** * Sums over transcripts *)

Section Sums.
Variables (R : realFieldType) (outcome : finType).

(** A sum over all transcripts of [n.+1] outcomes is one over the first outcome and the rest. *)
Lemma big_first n (F : seq outcome -> R) (P : pred (seq outcome)) :
  \sum_(t : n.+1.-tuple outcome | P t) F t =
  \sum_o \sum_(t : n.-tuple outcome | P (o :: t)) F (o :: t).
Proof.
rewrite pair_big_dep /=.
rewrite (reindex (fun ot : outcome * n.-tuple outcome => cons_tuple ot.1 ot.2)) //=.
exists (fun t : n.+1.-tuple outcome => (thead t, [tuple of behead t])) => [[o t] _|t _] /=.
  by congr pair; apply: val_inj.
by rewrite [RHS](tuple_eta t); apply: val_inj.
Qed.

End Sums.

(** * A filter for moments

    [phi] compares two probabilities, and multiplies as they do. The Renyi divergence of an order
    alpha takes p^alpha q^(1 - alpha), and the cost of a step is then e^(alpha (alpha - 1) rho).
    Given a history, the sum of [phi] over the outcomes is at most [cost], which is known before
    the outcome. If the costs along every transcript multiply to at most [B], the sum of [phi] over
    all transcripts is at most [B]. This is rule (b) of a ledger, and the budget of a path in rho. *)

Section MomentFilter.
Variables (R : realFieldType) (outcome : finType).
Variables (p q : seq outcome -> outcome -> R) (phi : R -> R -> R) (cost : seq outcome -> R).
Hypothesis phi_1 : phi 1 1 = 1.
Hypothesis phi_ge0 : forall a b, 0 <= phi a b.
Hypothesis phi_mul : forall a b c d, phi (a * b) (c * d) = phi a c * phi b d.
Hypothesis cost_gt0 : forall h, 0 < cost h.
Hypothesis cost_ok : forall h, \sum_o phi (p h o) (q h o) <= cost h.

Let weight h o := phi (p h o) (q h o).

Lemma phi_along h t : phi (along p h t) (along q h t) = along weight h t.
Proof. by elim: t h => [|o t IH] h //=; rewrite phi_mul IH. Qed.

(** Backward induction: what is left of the budget bounds what is left of the sum. *)
Lemma moments_within n h B :
    0 <= B ->
  \sum_(t : n.-tuple outcome | along (fun h _ => cost h) h t <= B) along weight h t <= B.
Proof.
elim: n h B => [|n IH] h B B0.
  rewrite big_mkcond (big_pred1 [tuple]) /=; first by case: ifP.
  by move=> t; apply/esym/eqP/val_inj; case: t => -[].
rewrite (big_first n (along weight h) (fun t => along (fun h _ => cost h) h t <= B)) /=.
apply: (@le_trans _ _ (\sum_o weight h o * (B / cost h))).
  apply: ler_sum => o _; rewrite -mulr_sumr ler_wpmul2l ?phi_ge0 //.
  under eq_bigl do rewrite mulrC -ler_pdivl_mulr //.
  by rewrite IH // divr_ge0 // ltW.
rewrite -mulr_suml mulrCA -[X in _ <= X]mulr1 ler_wpmul2l //.
by rewrite ler_pdivr_mulr ?mul1r ?cost_ok ?cost_gt0.
Qed.

Theorem moment_filter n B :
    0 <= B -> (forall t : n.-tuple outcome, along (fun h _ => cost h) [::] t <= B) ->
  \sum_(t : n.-tuple outcome) phi (along p [::] t) (along q [::] t) <= B.
Proof.
move=> B0 budget; under eq_bigr do rewrite phi_along.
by rewrite (eq_bigl _ _ (fun t => esym (budget t))) moments_within.
Qed.

End MomentFilter.

(** * Renyi moments of whole orders

    The moment of order [a + 1]: p^(a + 1) / q^a, summed over all outcomes. Sizes stand for p and q,
    so that [phi_ge0] holds for all numbers; probabilities are their own sizes. MathComp takes
    x / 0 as 0: this is the moment only where [q] is 0 for no outcome that [p] allows. *)

Section Moment.
Variables (R : realFieldType) (a : nat).
Implicit Types p q B : R.

Definition moment p q : R := `|p| ^+ a.+1 / `|q| ^+ a.

Lemma moment_1 : moment 1 1 = 1.
Proof. by rewrite /moment normr1 !expr1n divr1. Qed.

Lemma moment_ge0 p q : 0 <= moment p q.
Proof. by rewrite /moment divr_ge0 ?exprn_ge0. Qed.

Lemma moment_mul p q p' q' : moment (p * p') (q * q') = moment p q * moment p' q'.
Proof. by rewrite /moment !normrM !exprMn invfM mulrACA. Qed.

Lemma moment_same p : 0 <= p -> moment p p = p.
Proof.
move=> p0; rewrite /moment ger0_norm // exprS; have [->|np] := eqVneq p 0; first by rewrite !mul0r.
by rewrite mulfK // expf_neq0.
Qed.

(** A power lies above its tangent. *)
Lemma above_tangent n (x y : R) :
  0 <= x -> 0 <= y -> n.+1%:R * y ^+ n * x <= x ^+ n.+1 + n%:R * y ^+ n.+1.
Proof.
move=> x0 y0; elim: n => [|n IH]; first by rewrite !expr0 expr1 mul0r addr0 !mul1r.
rewrite -subr_ge0 in IH; rewrite -subr_ge0.
have -> : x ^+ n.+2 + n.+1%:R * y ^+ n.+2 - n.+2%:R * y ^+ n.+1 * x =
    x * (x ^+ n.+1 + n%:R * y ^+ n.+1 - n.+1%:R * y ^+ n * x) +
    n.+1%:R * y ^+ n * (x - y) ^+ 2 by rewrite !exprS !(mulrSr 1); ring.
apply: addr_ge0; first exact: mulr_ge0.
apply: mulr_ge0; last exact: sqr_ge0.
by apply: mulr_ge0; [exact: ler0n|exact: exprn_ge0].
Qed.

(** What an excess of [p] over [B q] costs in moments: the conversion of accounting.md, Lemma 3,
    for a whole order above 1. *)
Definition conversion B : R := (a.+1%:R * (B * a.+1%:R / a%:R) ^+ a)^-1.

Lemma moment_converts B p q : (0 < a)%N -> 0 < B -> 0 <= p -> 0 < q ->
  p <= B * q + conversion B * moment p q.
Proof.
move=> a0 B0 p0 q0; rewrite /moment ger0_norm // gtr0_norm //.
have [na ns] : 0 < a%:R :> R /\ 0 < a.+1%:R :> R by rewrite !ltr0n.
have -> : conversion B = (a.+1%:R * (B * a.+1%:R / a%:R) ^+ a)^-1 by [].
have : 0 < B * a.+1%:R / a%:R by rewrite divr_gt0 ?mulr_gt0.
have : B = B * a.+1%:R / a%:R * a%:R / a.+1%:R.
  by rewrite mulfVK ?mulfK ?gt_eqF.
move: (B * a.+1%:R / a%:R) => y -> y0.
have [ya qa] : 0 < y ^+ a /\ 0 < q ^+ a by rewrite !exprn_gt0.
have w0 : 0 < a.+1%:R * y ^+ a * q ^+ a by rewrite !mulr_gt0.
rewrite -(ler_pmul2l w0).
have := above_tangent a p0 (ltW (mulr_gt0 y0 q0)); rewrite !exprMn mulrA => /le_trans; apply.
rewrite le_eqVlt; apply/orP; left; apply/eqP.
rewrite [y ^+ a.+1]exprS [q ^+ a.+1]exprS.
move: (p ^+ a.+1) (y ^+ a) (q ^+ a) ya qa {w0} => P Y Q Y0 Q0.
by field; rewrite !gt_eqF //= -mulrS.
Qed.

End Moment.
