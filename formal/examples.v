(** Small cases of the definitions that the theorems are about, computed by Coq.

    tests/test_formal.py compares them with what the library uses. *)

From Coq Require Import String.
From mathcomp Require Import all_ssreflect all_algebra.
From dphist_formal Require Import transcripts regions contrasts truncated.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** The tree of the library: an odd number of values first parts with its last one. *)
Fixpoint halved (depth n : nat) : tree :=
  if depth is depth'.+1 then
    if n <= 1 then Leaf
    else if odd n then Node (halved depth' n.-1) Leaf
    else Node (halved depth' n./2) (halved depth' n./2)
  else Leaf.

(** The rows of keys with 2 to 12 values. *)
Eval compute in ("rows"%string, [seq rows (halved n n) | n <- iota 2 11]).

(** The exponents of [a] in the weights of noise that ends at 0 to 6. *)
Eval compute in ("distances"%string, [seq [seq distance j k | j <- iota 0 (2 * k).+1] | k <- iota 0 7]).
