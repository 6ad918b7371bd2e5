"""The experiments of Hay et al. (2010), on data like theirs."""
