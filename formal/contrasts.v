(** Contrasts of tables by several keys: docs/understand/proofs/tables.md, Lemmas 2, 3 and 6.

    The values of a key are the leaves of a binary tree, and each node is a row: b / g on the [a]
    values of its first part and - a / g on the [b] values of its second, with g = gcd(a, b). *)

From mathcomp Require Import all_ssreflect all_algebra ring.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** * One key *)

Inductive tree := Leaf | Node of tree & tree.

Fixpoint values t : nat := if t is Node l r then values l + values r else 1.

Definition node a b : seq int :=
  nseq a ((b %/ gcdn a b)%N : int) ++ nseq b (- ((a %/ gcdn a b)%N : int)).

Fixpoint rows t : seq (seq int) :=
  if t is Node l r then
    node (values l) (values r) ::
      [seq h ++ nseq (values r) 0 | h <- rows l] ++ [seq nseq (values l) 0 ++ h | h <- rows r]
  else [::].

Definition dot (u v : seq int) : int := \sum_(p <- zip u v) p.1 * p.2.

Lemma values_gt0 t : (0 < values t)%N.
Proof. by elim: t => [|l IHl r IHr] //=; rewrite addn_gt0 IHl. Qed.

Lemma dot_cat u v u' v' : size u = size v -> dot (u ++ u') (v ++ v') = dot u v + dot u' v'.
Proof. by move=> same; rewrite /dot zip_cat // big_cat. Qed.

Lemma dot_nseq n x v : size v = n -> dot (nseq n x) v = x * \sum_(y <- v) y.
Proof.
elim: v n => [|y v IH] [|n] //= => [_|[vn]]; first by rewrite /dot !big_nil mulr0.
by rewrite /dot /= !big_cons mulrDr -(IH n vn).
Qed.

Lemma dotC u v : dot u v = dot v u.
Proof.
elim: u v => [|x u IH] [|y v] //; try by rewrite /dot /= !big_nil.
by rewrite /dot /= !big_cons mulrC; congr (_ + _); exact: IH.
Qed.

Lemma sum_nseq n (x : int) : \sum_(y <- nseq n x) y = x *+ n.
Proof. by elim: n => [|n IH] /=; rewrite ?big_nil ?big_cons ?IH ?mulrS. Qed.

Lemma mulr_int (x : int) n : x *+ n = x * n.
Proof. by rewrite -mulr_natr natz. Qed.

Lemma size_rows t : all (fun h => size h == values t) (rows t).
Proof.
elim: t => [|l IHl r IHr] //=; rewrite /node size_cat !size_nseq eqxx all_cat !all_map /=.
apply/andP; split; [apply: sub_all IHl|apply: sub_all IHr] => h /eqP sh /=;
  by rewrite size_cat size_nseq sh.
Qed.

Lemma number_of_rows t : size (rows t) = (values t).-1.
Proof.
elim: t => [|l IHl r IHr] //=; rewrite size_cat !size_map IHl IHr.
have := values_gt0 l; have := values_gt0 r.
by case: (values l) => // a; case: (values r) => // b _ _; rewrite addSn /= addnS.
Qed.

Lemma sum_rows t : all (fun h => \sum_(x <- h) x == 0) (rows t).
Proof.
elim: t => [|l IHl r IHr] //=; apply/andP; split.
  rewrite /node big_cat /= !sum_nseq mulNrn subr_eq0; apply/eqP.
  rewrite !mulr_int -!PoszM; congr Posz.
  by rewrite mulnC muln_divA ?dvdn_gcdr // [RHS]mulnC muln_divA ?dvdn_gcdl // mulnC.
rewrite all_cat !all_map; apply/andP; split; [apply: sub_all IHl|apply: sub_all IHr] => h /=;
  by rewrite big_cat /= sum_nseq mul0rn ?addr0 ?add0r.
Qed.

(** A row of a part stands in the whole with zeros on the other part. *)
Lemma dot_left b h h' : size h = size h' -> dot (h ++ nseq b 0) (h' ++ nseq b 0) = dot h h'.
Proof. by move=> same; rewrite dot_cat // dot_nseq ?size_nseq // mul0r addr0. Qed.

Lemma dot_right a h h' : dot (nseq a 0 ++ h) (nseq a 0 ++ h') = dot h h'.
Proof. by rewrite dot_cat ?size_nseq // dot_nseq ?size_nseq // mul0r add0r. Qed.

Lemma dot_apart a b h h' :
  size h = a -> size h' = b -> dot (h ++ nseq b 0) (nseq a 0 ++ h') = 0.
Proof.
move=> sh sh'; rewrite dot_cat ?size_nseq // dotC !dot_nseq //.
by rewrite !mul0r addr0.
Qed.

Lemma dot_node_left a b h :
  size h = a -> \sum_(x <- h) x = 0 -> dot (node a b) (h ++ nseq b 0) = 0.
Proof.
move=> sh zero; rewrite /node dot_cat ?size_nseq // !dot_nseq ?size_nseq // zero.
by rewrite sum_nseq mul0rn !mulr0 addr0.
Qed.

Lemma dot_node_right a b h :
  size h = b -> \sum_(x <- h) x = 0 -> dot (node a b) (nseq a 0 ++ h) = 0.
Proof.
move=> sh zero; rewrite /node dot_cat ?size_nseq // !dot_nseq ?size_nseq // zero.
by rewrite sum_nseq mul0rn !mulr0 addr0.
Qed.

Theorem rows_orthogonal t : pairwise (fun u v => dot u v == 0) (rows t).
Proof.
elim: t => [|l IHl r IHr] //=.
have facts t h : h \in rows t -> size h = values t /\ \sum_(x <- h) x = 0.
  by move=> ht; split; apply/eqP; [exact: (allP (size_rows t))|exact: (allP (sum_rows t))].
apply/andP; split.
  rewrite all_cat !all_map; apply/andP; split; apply/allP => h /facts[sh zero] /=.
    by rewrite dot_node_left.
  by rewrite dot_node_right.
rewrite pairwise_cat !pairwise_map; apply/and3P; split.
- apply/allrelP => _ _ /mapP[h /facts[sh _] ->] /mapP[h' /facts[sh' _] ->].
  by rewrite dot_apart.
- apply: (sub_in_pairwise _ (allss (rows l)) IHl) => h h' /facts[sh _] /facts[sh' _] /=.
  by rewrite dot_left ?sh.
by apply: sub_pairwise IHr => h h' /=; rewrite dot_right.
Qed.

(** * What a record pays *)

Lemma share_in_field (u v g : rat) : u != 0 -> v != 0 -> g != 0 -> u + v != 0 ->
  u ^+ 2 / (u ^+ 2 * (v * g) + v ^+ 2 * (u * g)) = u * g / (v * g * (v * g + u * g)).
Proof.
move=> u0 v0 g0 uv0; field.
have -> : v * g + u * g = (u + v) * g by ring.
have -> : u ^+ 2 * (v * g) + v ^+ 2 * (u * g) = u * v * g * (u + v) by ring.
by rewrite !mulf_neq0 ?u0 ?v0 ?g0 ?uv0.
Qed.

(** The square of a node's entry over the node's squared length. *)
Lemma share_of_node a b : (0 < a)%N -> (0 < b)%N ->
  let length : rat := (dot (node a b) (node a b))%:~R in
  ((b %/ gcdn a b)%N : int)%:~R ^+ 2 / length = b%:R / (a%:R * (a + b)%:R) :> rat /\
  (- ((a %/ gcdn a b)%N : int))%:~R ^+ 2 / length = a%:R / (b%:R * (a + b)%:R) :> rat.
Proof.
move=> a0 b0 /=; set g := gcdn a b.
have g0 : (0 < g)%N by rewrite gcdn_gt0 a0.
have [ga gb] : (g %| a)%N /\ (g %| b)%N by rewrite dvdn_gcdl dvdn_gcdr.
set u := (b %/ g)%N; set v := (a %/ g)%N.
have ea : a = (v * g)%N by rewrite divnK.
have eb : b = (u * g)%N by rewrite divnK.
have nz (n : nat) : (0 < n)%N -> (n%:R : rat) != 0 by rewrite pnatr_eq0 lt0n.
have nu : (u%:R : rat) != 0 by rewrite nz // divn_gt0 // dvdn_leq.
have nv : (v%:R : rat) != 0 by rewrite nz // divn_gt0 // dvdn_leq.
have ng : (g%:R : rat) != 0 by exact: nz.
have nuv : (u%:R + v%:R : rat) != 0.
  by rewrite -natrD nz // addn_gt0 divn_gt0 // dvdn_leq.
have -> : (dot (node a b) (node a b))%:~R = u%:R ^+ 2 * a%:R + v%:R ^+ 2 * b%:R :> rat.
  rewrite /node -/g -/u -/v dot_cat ?size_nseq // !dot_nseq ?size_nseq // !sum_nseq !mulr_int.
  by rewrite rmorphD /= !rmorphM /= !rmorphN /= -!pmulrn; ring.
rewrite rmorphN sqrrN /= -!pmulrn natrD.
have [ra rb] : a%:R = v%:R * g%:R :> rat /\ b%:R = u%:R * g%:R :> rat by rewrite -!natrM -ea -eb.
rewrite ra rb; split; first exact: share_in_field.
by rewrite addrC [_ * _ + _ * _ in RHS]addrC share_in_field // addrC.
Qed.

Lemma dot_ge0 h : 0 <= dot h h.
Proof.
elim: h => [|x h IH]; first by rewrite /dot big_nil.
by rewrite /dot /= big_cons addr_ge0 //; exact: sqr_ge0.
Qed.

Lemma length_gt0 t : all (fun h => 0 < dot h h) (rows t).
Proof.
elim: t => [|l IHl r IHr] //=; apply/andP; split.
  have [a0 b0] : (0 < values l)%N /\ (0 < values r)%N by rewrite !values_gt0.
  have [left _] := share_of_node a0 b0; rewrite lt0r dot_ge0 andbT.
  apply: contra_eq_neq left => ->; rewrite invr0 mulr0 eq_sym.
  have nz (n : nat) : (0 < n)%N -> (n%:R : rat) != 0 by rewrite pnatr_eq0 lt0n.
  by rewrite mulf_neq0 ?invr_neq0 ?mulf_neq0 ?nz ?addn_gt0 ?a0.
rewrite all_cat !all_map; apply/andP; split; apply/allP => h ht /=; last first.
  by rewrite dot_right; exact: (allP IHr).
by rewrite dot_left //; exact: (allP IHl).
Qed.

(** What the rows of a key pay for one value: 1 - 1 / n, the same for every value. *)
Definition paid t c : rat := \sum_(h <- rows t) (nth 0 h c)%:~R ^+ 2 / (dot h h)%:~R.

Theorem paid_by_one_key t c : (c < values t)%N -> paid t c = 1 - (values t)%:R^-1.
Proof.
rewrite /paid; elim: t c => [|l IHl r IHr] c /=.
  by rewrite big_nil invr1 subrr.
set a := values l; set b := values r => c_ok.
have [a0 b0] : (0 < a)%N /\ (0 < b)%N by rewrite !values_gt0.
have [na nb] : (a%:R : rat) != 0 /\ (b%:R : rat) != 0 by rewrite !pnatr_eq0 -!lt0n.
have nab : (a%:R + b%:R : rat) != 0 by rewrite -natrD pnatr_eq0 -lt0n addn_gt0 a0.
have [left right] := share_of_node a0 b0.
have sizes t h : h \in rows t -> size h = values t by move=> /(allP (size_rows t))/eqP.
rewrite big_cons big_cat /= !big_map; have [small|big] := ltnP c a.
- rewrite [X in X ^+ 2](_ : _ = ((b %/ gcdn a b)%N : int)%:~R); last first.
    by rewrite /node nth_cat size_nseq small nth_nseq small.
  rewrite left [X in _ + (_ + X)]big1 => [|h _]; last first.
    by rewrite nth_cat size_nseq small nth_nseq small expr0n mul0r.
  rewrite addr0 (eq_big_seq (fun h => (nth 0 h c)%:~R ^+ 2 / (dot h h)%:~R)) => [|h /sizes sh].
    by rewrite IHl // -/a natrD; field; rewrite na nab.
  by rewrite nth_cat sh small dot_left.
have rest : (c - a < b)%N by rewrite ltn_subLR.
rewrite [X in X ^+ 2](_ : _ = (- ((a %/ gcdn a b)%N : int))%:~R); last first.
  by rewrite /node nth_cat size_nseq ltnNge big /= nth_nseq rest.
rewrite right [X in _ + (X + _)]big_seq big1 => [|h /sizes sh]; last first.
  by rewrite nth_cat sh ltnNge big /= nth_nseq; case: ifP => _; rewrite expr0n mul0r.
rewrite add0r (eq_bigr (fun h => (nth 0 h (c - a))%:~R ^+ 2 / (dot h h)%:~R)) => [|h _].
  by rewrite IHr // -/b natrD; field; rewrite nab nb.
by rewrite nth_cat size_nseq ltnNge big /= dot_right.
Qed.

(** * Several keys *)

(** All choices of one element from each list. *)
Fixpoint choices (T : Type) (lists : seq (seq T)) : seq (seq T) :=
  if lists is list :: rest then [seq x :: xs | x <- list, xs <- choices rest] else [:: [::]].

(** A product of sums is a sum over all choices. [f] may depend on the place. *)
Lemma sum_choices (T : Type) (R : comRingType) (lists : seq (seq T)) (f : nat -> T -> R) :
  \sum_(xs <- choices lists) \prod_(p <- zip (iota 0 (size xs)) xs) f p.1 p.2 =
  \prod_(p <- zip (iota 0 (size lists)) lists) \sum_(x <- p.2) f p.1 x.
Proof.
suff general k : \sum_(xs <- choices lists) \prod_(p <- zip (iota k (size xs)) xs) f p.1 p.2 =
    \prod_(p <- zip (iota k (size lists)) lists) \sum_(x <- p.2) f p.1 x by exact: general.
elim: lists k => [|list rest IH] k /=; first by rewrite big_seq1 !big_nil.
rewrite big_allpairs_dep /= big_cons -IH mulr_suml; apply: eq_bigr => x _.
by rewrite mulr_sumr; apply: eq_bigr => xs _; rewrite /= big_cons.
Qed.

(** The contrasts of a table: one row of each key. Their entries are products of entries. *)
Definition paid_by_contrast (cell : seq nat) (J : seq (seq int)) : rat :=
  \prod_(p <- zip (iota 0 (size J)) J)
    ((nth 0 p.2 (nth 0%N cell p.1))%:~R ^+ 2 / (dot p.2 p.2)%:~R).

(** What the contrasts of a table pay for a record in a cell: the product of 1 - 1 / n. *)
Theorem paid_by_a_table (keys : seq tree) (cell : seq nat) :
    (forall i, (i < size keys)%N -> (nth 0%N cell i < values (nth Leaf keys i))%N) ->
  \sum_(J <- choices [seq rows t | t <- keys]) paid_by_contrast cell J =
  \prod_(t <- keys) (1 - (values t)%:R^-1).
Proof.
move=> inside.
rewrite (sum_choices [seq rows t | t <- keys]
  (fun i h => (nth 0 h (nth 0%N cell i))%:~R ^+ 2 / (dot h h)%:~R)).
rewrite size_map; suff general k ks : (forall i, (i < size ks)%N ->
    (nth 0%N cell (k + i) < values (nth Leaf ks i))%N) ->
  \prod_(p <- zip (iota k (size ks)) [seq rows t | t <- ks])
    (\sum_(h <- p.2) (nth 0 h (nth 0%N cell p.1))%:~R ^+ 2 / (dot h h)%:~R) =
  \prod_(t <- ks) (1 - (values t)%:R^-1 : rat) by apply: general => i; exact: inside.
elim: ks k => [|t ks IH] k here /=; first by rewrite !big_nil.
rewrite !big_cons /=; congr (_ * _).
  by apply: paid_by_one_key; have := here 0%N isT; rewrite addn0.
by apply: IH => i small; have := here i.+1 small; rewrite addnS addSn.
Qed.

(** Noise of a contrast with a variance of at least [v] times its squared length: so the squared
    distance of neighbors, in variances, is at most p_A / v, and rho is half of that. *)
Theorem cost_of_a_table (keys : seq tree) (cell : seq nat) (v : rat) (s2 : seq (seq int) -> rat) :
    0 < v ->
    (forall J, J \in choices [seq rows t | t <- keys] ->
      v * \prod_(h <- J) (dot h h)%:~R <= s2 J) ->
    (forall i, (i < size keys)%N -> (nth 0%N cell i < values (nth Leaf keys i))%N) ->
  \sum_(J <- choices [seq rows t | t <- keys])
    (\prod_(p <- zip (iota 0 (size J)) J) (nth 0 p.2 (nth 0%N cell p.1))%:~R ^+ 2) / s2 J <=
  (\prod_(t <- keys) (1 - (values t)%:R^-1)) / v.
Proof.
move=> v0 enough inside; rewrite -(paid_by_a_table inside) mulr_suml.
rewrite !big_seq; apply: ler_sum => J chosen.
have length0 : 0 < \prod_(h <- J) (dot h h)%:~R :> rat.
  elim: keys J chosen {enough inside} => [|t keys IH] J /=.
    by rewrite inE => /eqP ->; rewrite big_nil ltr01.
  case/allpairsP=> -[h J'] /= [ht J't ->]; rewrite big_cons mulr_gt0 ?IH //.
  by rewrite ltr0z; exact: (allP (length_gt0 t)).
have -> : paid_by_contrast cell J =
    \prod_(p <- zip (iota 0 (size J)) J) (nth 0 p.2 (nth 0%N cell p.1))%:~R ^+ 2 /
    \prod_(h <- J) (dot h h)%:~R.
  rewrite /paid_by_contrast prodf_div; congr (_ / _).
  by rewrite -[in RHS](@unzip2_zip _ _ (iota 0 (size J)) J) ?size_iota // big_map.
rewrite -mulrA -invfM ler_wpmul2l ?prodr_ge0 => // [p _|]; first exact: sqr_ge0.
by rewrite lef_pinv ?posrE ?mulr_gt0 // ?[_ * v]mulrC ?enough // (lt_le_trans _ (enough _ chosen))
  ?mulr_gt0.
Qed.

(** * Equal errors

    With variances sigma_A^2 = V times the product of 1 + 1 / n over the keys of A, every cell of
    every table has the variance V. The variance of a cell of a table with the keys [ns] is the sum
    over its parts A of sigma_A^2 p_A times the product of 1 / n^2 over the other keys. *)
Definition variance_of_a_cell (V : rat) (ns : seq nat) : rat :=
  \sum_(A <- choices [seq [:: true; false] | _ <- ns])
    V * \prod_(p <- zip A ns)
      (if p.1 then (1 + p.2%:R^-1) * (1 - p.2%:R^-1) else p.2%:R^-1 ^+ 2).

Theorem equal_errors V ns : variance_of_a_cell V ns = V.
Proof.
rewrite /variance_of_a_cell -mulr_sumr -[RHS]mulr1; congr (_ * _).
elim: ns => [|n ns IH] /=; first by rewrite big_seq1 big_nil.
rewrite big_cat /= cats0 !big_map /=.
under eq_bigr do rewrite big_cons /=.
under [X in _ + X]eq_bigr do rewrite big_cons /=.
by rewrite -!mulr_sumr IH !mulr1; ring.
Qed.
