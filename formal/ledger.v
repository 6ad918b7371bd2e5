(** The filter of a ledger: mechanisms, and their costs, are chosen by the results so far.

    Docs: docs/understand/proofs/ledger.md, Lemmas 2 and 3. After a history [h] of results the
    analyst runs one more mechanism. On two neighbors its result [o] has the probabilities [p h o]
    and [q h o]. An entry has a delta, a cost for moments (rule (b), from rho) and, where [states h]
    holds, a rate (rule (a), e^epsilon). Of [p] and [q] the parts [p' <= p] and [q' <= q] keep these
    promises, and have a mass of at least 1 - delta. All are known before the result.

    [either_rule]: if along every transcript the deltas add up to at most [D], and either all
    entries state rates that multiply to at most [B] or the costs multiply to at most [M], then
    all results together are (B, D + C)-indistinguishable, both ways, where [C] is what the conversion
    of moments costs. [p'] and [q'] are 0 for the same results: otherwise a moment is infinite. *)

From mathcomp Require Import all_ssreflect all_algebra ring.
From dphist_formal Require Import transcripts.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Within.
Variables (R : realFieldType) (outcome : finType) (o0 : outcome).
Implicit Types (h : seq outcome) (B D : R).

(** What is known before each result, added up along a transcript. *)
Fixpoint sum_along (f : seq outcome -> R) h (t : seq outcome) : R :=
  if t is o :: t' then f h + sum_along f (rcons h o) t' else 0.

Lemma sum_along_ge0 f h t : (forall h, 0 <= f h) -> 0 <= sum_along f h t.
Proof. by move=> f0; elim: t h => [|o t IH] h //=; rewrite addr_ge0. Qed.

(** Parts of laws that miss at most [delta] of each step miss at most [D] of the whole. *)
Lemma mass_left (p' : seq outcome -> outcome -> R) (delta : seq outcome -> R) n h D :
    (forall h o, 0 <= p' h o) -> (forall h, 0 <= delta h) ->
    (forall h, 1 - delta h <= \sum_o p' h o) ->
    0 <= D -> (forall t : n.-tuple outcome, sum_along delta h t <= D) ->
  1 - D <= \sum_(t : n.-tuple outcome) along p' h t.
Proof.
move=> p0 delta0 mass; elim: n h D => [|n IH] h D D0 paid.
  rewrite (big_pred1 [tuple]) /= ?ler_subl_addr ?ler_addl // => t.
  by apply/esym/eqP/val_inj; case: t => -[].
rewrite (big_first n (along p' h) xpredT) /=.
have [big|small] := lerP 1 D.
  apply: (@le_trans _ _ 0); first by rewrite subr_le0.
  by do 2 (apply: sumr_ge0 => ? _); rewrite mulr_ge0 ?along_ge0.
have spent : 0 <= D - delta h.
  rewrite subr_ge0 (le_trans _ (paid [tuple of o0 :: nseq n o0])) //= ler_addl.
  exact: sum_along_ge0.
have rest o : 1 - (D - delta h) <= \sum_(t : n.-tuple outcome) along p' (rcons h o) t.
  by apply: IH => // t; rewrite ler_subr_addl; have := paid [tuple of o :: t].
have room : 0 <= 1 - (D - delta h).
  by rewrite subr_ge0 ler_subl_addr (le_trans (ltW small)) // ler_addl.
apply: (@le_trans _ _ (\sum_o p' h o * (1 - (D - delta h)))); last first.
  by apply: ler_sum => o _; rewrite -mulr_sumr ler_wpmul2l.
rewrite -mulr_suml; apply: (@le_trans _ _ ((1 - delta h) * (1 - (D - delta h)))).
  rewrite (_ : _ * _ = 1 - D + delta h * (D - delta h)) ?ler_addl ?mulr_ge0 //.
  by ring.
by rewrite ler_wpmul2r.
Qed.
End Within.

Section OneWay.
Variables (R : realFieldType) (outcome : finType) (o0 : outcome).
Variables p q p' q' : seq outcome -> outcome -> R.
Variables delta rate cost : seq outcome -> R.
Variable states : pred (seq outcome).

Hypothesis p_law : forall h, \sum_o p h o = 1.
Hypothesis p'_ge0 : forall h o, 0 <= p' h o.
Hypothesis q'_ge0 : forall h o, 0 <= q' h o.
Hypothesis p'_le : forall h o, p' h o <= p h o.
Hypothesis q'_le : forall h o, q' h o <= q h o.
Hypothesis p'_0 : forall h o, q' h o = 0 -> p' h o = 0.

(** What each entry promises. *)
Hypothesis delta_ge0 : forall h, 0 <= delta h.
Hypothesis delta_ok : forall h, 1 - delta h <= \sum_o p' h o.
Hypothesis rate_ok : forall h o, states h -> p' h o <= rate h * q' h o.
Variable phi : R -> R -> R.
Hypothesis phi_1 : phi 1 1 = 1.
Hypothesis phi_ge0 : forall a b, 0 <= phi a b.
Hypothesis phi_mul : forall a b c d, phi (a * b) (c * d) = phi a c * phi b d.
Hypothesis cost_gt0 : forall h, 0 < cost h.
Hypothesis cost_ok : forall h, \sum_o phi (p' h o) (q' h o) <= cost h.

(** The account: [B] is e^epsilon, [M] what rho* admits, [K] converts moments at this [B]. *)
Variables B D M K C : R.
Hypothesis B_ge0 : 0 <= B.
Hypothesis D_ge0 : 0 <= D.
Hypothesis M_ge0 : 0 <= M.
Hypothesis K_ge0 : 0 <= K.
Hypothesis converts : forall a b, 0 <= a -> 0 < b -> a <= B * b + K * phi a b.
Hypothesis C_ok : K * M <= C.

Fixpoint all_state h (t : seq outcome) : bool :=
  if t is o :: t' then states h && all_state (rcons h o) t' else true.

Definition rule_a t := all_state [::] t && (along (fun h _ => rate h) [::] t <= B).
Definition rule_b t := along (fun h _ => cost h) [::] t <= M.

Lemma along_all_state h t :
  all_state h t -> along p' h t <= along (fun h _ => rate h) h t * along q' h t.
Proof.
elim: t h => [|o t IH] h /=; first by rewrite mulr1.
case/andP=> here rest; rewrite mulrACA ler_pmul ?p'_ge0 ?along_ge0 ?rate_ok ?IH //.
Qed.

Lemma along_le (f g : seq outcome -> outcome -> R) h t :
  (forall h o, 0 <= f h o) -> (forall h o, f h o <= g h o) -> along f h t <= along g h t.
Proof.
by move=> f0 fg; elim: t h => [|o t IH] h //=; rewrite ler_pmul ?f0 ?along_ge0 ?fg ?IH.
Qed.

Lemma along_law n h : \sum_(t : n.-tuple outcome) along p h t = 1.
Proof.
elim: n h => [|n IH] h.
  by rewrite (big_pred1 [tuple]) // => t; apply/esym/eqP/val_inj; case: t => -[].
rewrite (big_first n (along p h) xpredT) /= -[RHS](p_law h).
by apply: eq_bigr => o _; rewrite -mulr_sumr IH mulr1.
Qed.

Lemma along_0 h t : along q' h t = 0 -> along p' h t = 0.
Proof.
elim: t h => [|o t IH] h //= /eqP; rewrite mulf_eq0.
by case/orP=> /eqP zero; [rewrite p'_0 // mul0r|rewrite IH // mulr0].
Qed.

Theorem one_way n (E : pred (n.-tuple outcome)) :
    (forall t : n.-tuple outcome, sum_along delta [::] t <= D) ->
    (forall t : n.-tuple outcome, rule_a t || rule_b t) ->
  \sum_(t | E t) along p [::] t <= B * (\sum_(t | E t) along q [::] t) + D + C.
Proof.
move=> deltas rules.
have p'p (t : seq outcome) : along p' [::] t <= along p [::] t by apply: along_le.
have q'q (t : seq outcome) : along q' [::] t <= along q [::] t by apply: along_le.
have moments : \sum_(t : n.-tuple outcome | rule_b t) phi (along p' [::] t) (along q' [::] t) <= M.
  by under eq_bigr do rewrite phi_along //; apply: moments_within.
have missed : \sum_(t | E t) along p [::] t <= \sum_(t | E t) along p' [::] t + D.
  rewrite -ler_subl_addl -sumrB.
  apply: (@le_trans _ _ (\sum_(t : n.-tuple outcome) (along p [::] t - along p' [::] t))).
    rewrite [X in _ <= X](bigID E) /= ler_addl sumr_ge0 // => t _.
    by rewrite subr_ge0.
  rewrite sumrB along_law ler_subl_addl addrC -ler_subl_addl.
  exact: (mass_left o0 p'_ge0 delta_ge0 delta_ok).
have each (t : n.-tuple outcome) :
    along p' [::] t <=
    B * along q' [::] t + (if rule_b t then K * phi (along p' [::] t) (along q' [::] t) else 0).
  have [b|/negPf not_b] := boolP (rule_b t).
    have [zero|some] := eqVneq (along q' [::] t) 0; first by rewrite along_0 // zero mulr0 add0r mulr_ge0.
    by rewrite converts ?along_ge0 // lt0r some along_ge0.
  have := rules t; rewrite not_b orbF => /andP[/along_all_state le_rate budget].
  by rewrite addr0 (le_trans le_rate) // ler_wpmul2r ?along_ge0.
apply: (le_trans missed); rewrite addrAC ler_add2r.
apply: (@le_trans _ _ (\sum_(t | E t) (B * along q' [::] t +
    (if rule_b t then K * phi (along p' [::] t) (along q' [::] t) else 0)))).
  by apply: ler_sum => t _; exact: each.
rewrite big_split /= ler_add // -?mulr_sumr ?ler_wpmul2l ?ler_sum //.
apply: (le_trans _ C_ok); rewrite -big_mkcondr /= -mulr_sumr ler_wpmul2l //.
apply: (le_trans _ moments); rewrite [X in _ <= X](bigID E) /=.
under [X in _ <= X + _]eq_bigl do rewrite andbC.
by rewrite ler_addl sumr_ge0.
Qed.

End OneWay.

Section EitherRule.
Variables (R : realFieldType) (outcome : finType) (o0 : outcome).
Variables p q p' q' : seq outcome -> outcome -> R.
Variables delta rate cost : seq outcome -> R.
Variable states : pred (seq outcome).
Hypotheses (p_law : forall h, \sum_o p h o = 1) (q_law : forall h, \sum_o q h o = 1).
Hypotheses (p'_ge0 : forall h o, 0 <= p' h o) (q'_ge0 : forall h o, 0 <= q' h o).
Hypotheses (p'_le : forall h o, p' h o <= p h o) (q'_le : forall h o, q' h o <= q h o).
Hypothesis same_0 : forall h o, p' h o = 0 <-> q' h o = 0.

(** What each entry promises, both ways. *)
Hypothesis delta_ge0 : forall h, 0 <= delta h.
Hypothesis delta_p : forall h, 1 - delta h <= \sum_o p' h o.
Hypothesis delta_q : forall h, 1 - delta h <= \sum_o q' h o.
Hypothesis rate_pq : forall h o, states h -> p' h o <= rate h * q' h o.
Hypothesis rate_qp : forall h o, states h -> q' h o <= rate h * p' h o.
Variable phi : R -> R -> R.
Hypothesis phi_1 : phi 1 1 = 1.
Hypothesis phi_ge0 : forall a b, 0 <= phi a b.
Hypothesis phi_mul : forall a b c d, phi (a * b) (c * d) = phi a c * phi b d.
Hypothesis cost_gt0 : forall h, 0 < cost h.
Hypothesis cost_pq : forall h, \sum_o phi (p' h o) (q' h o) <= cost h.
Hypothesis cost_qp : forall h, \sum_o phi (q' h o) (p' h o) <= cost h.

Theorem either_rule B D M K C n (E : pred (n.-tuple outcome)) :
    0 <= B -> 0 <= D -> 0 <= M -> 0 <= K ->
    (forall a b, 0 <= a -> 0 < b -> a <= B * b + K * phi a b) -> K * M <= C ->
    (forall t : n.-tuple outcome, sum_along delta [::] t <= D) ->
    (forall t : n.-tuple outcome, rule_a rate states B t || rule_b cost M t) ->
  \sum_(t | E t) along p [::] t <= B * (\sum_(t | E t) along q [::] t) + D + C /\
  \sum_(t | E t) along q [::] t <= B * (\sum_(t | E t) along p [::] t) + D + C.
Proof.
move=> B0 D0 M0 K0 converts C_ok deltas rules; split.
  apply: (one_way o0 p_law p'_ge0 q'_ge0 p'_le q'_le _ delta_ge0 delta_p rate_pq phi_1 phi_ge0 phi_mul
    cost_gt0 cost_pq B0 D0 M0 K0 converts C_ok E deltas rules) => h o.
  by case: (same_0 h o).
apply: (one_way o0 q_law q'_ge0 p'_ge0 q'_le p'_le _ delta_ge0 delta_q rate_qp phi_1 phi_ge0 phi_mul
  cost_gt0 cost_qp B0 D0 M0 K0 converts C_ok E deltas rules) => h o.
by case: (same_0 h o).
Qed.

End EitherRule.

(** The hypotheses can hold, and say something: randomized response of 3 : 2, asked twice, stating no
    rate, is (5/4, 49/180)-indistinguishable by the moments of order 2. *)
Section Example.
Let p (h : seq bool) (o : bool) : rat := if o then 3%:Q / 5%:Q else 2%:Q / 5%:Q.
Let q (h : seq bool) (o : bool) : rat := p h (~~ o).

Lemma either_rule_holds (E : pred (2.-tuple bool)) :
  \sum_(t | E t) along p [::] t <=
    5%:Q / 4%:Q * (\sum_(t | E t) along q [::] t) + 0 + 49%:Q / 180%:Q.
Proof.
have [] // := @either_rule _ _ true p q p q (fun _ => 0) (fun _ => 0) (fun _ => 7%:Q / 6%:Q) pred0
  _ _ _ _ _ _ _ _ _ _ _ _ (moment 1) (moment_1 _ _) (@moment_ge0 _ _) _ _ _ _
  (5%:Q / 4%:Q) 0 (49%:Q / 36%:Q) (conversion 1 (5%:Q / 4%:Q)) (49%:Q / 180%:Q) 2 E.
all: try by [].
all: try by move=> h; rewrite big_bool.
all: try by move=> h [].
all: try by move=> a b c d; exact: moment_mul.
all: try by move=> a b a0 b0; exact: moment_converts.
all: by move=> t; case/tupleP: t => o t; case/tupleP: t => o' t; rewrite tuple0.
Qed.

End Example.
