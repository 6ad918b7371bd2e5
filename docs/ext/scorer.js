// What a search finds first: pages that explain, then names of Python, then proofs and measurements.
const EXPLAINS = /^(start|guides|understand)\/|^reference\/(glossary|errors|configuration)$/;
const DETAIL = /^(proofs|decisions)\/|^(mutants|benchmarks|audit-\w+|hay2010|releasing|references)$/;
var Scorer = {
  objNameMatch: 4,
  objPartialMatch: 1,
  objPrio: { 0: 2, 1: 0, 2: -2 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([page, , , , score]) =>
    score + (EXPLAINS.test(page) ? 3 : DETAIL.test(page) ? -8 : 0),
};
