# Release counts with differential privacy from R, read them, and plot them.
#
#     Rscript examples/from_r.R OUTPUT_FOLDER
#
# The first half runs the command line: it needs R alone, and dphist on the path. The second half
# calls Python by the package reticulate, and is left out if that is not installed. The environment
# variable RETICULATE_PYTHON names the Python that has dphist.
#
# Run it in a checkout: it reads data/items_online_retail.parquet, the items that customers of a shop
# bought.

folder <- commandArgs(trailingOnly = TRUE)
if (length(folder) != 1) stop("usage: Rscript examples/from_r.R OUTPUT_FOLDER")
dir.create(folder, showWarnings = FALSE, recursive = TRUE)
at <- function(name) file.path(folder, name)

draw <- function(names, table, path, title) {
  svg(path, width = 7, height = 5)
  par(mar = c(4, 12, 3, 1))
  places <- rev(seq_along(names))
  plot(table$count, places, xlim = range(0, table$high), yaxt = "n", pch = 19,
       xlab = "count, with 95 % interval", ylab = "", main = title)
  axis(2, at = places, labels = names, las = 1, cex.axis = 0.8)
  segments(table$low, places, table$high, places)
  invisible(dev.off())
}

# --- The command line ---------------------------------------------------------------------------

# R puts its own libraries ahead of others; a Python outside of the system may then fail to start.
dphist <- function(...) system2("dphist", c(...), env = "LD_LIBRARY_PATH=")

# One customer counts for at most 50 items; epsilon and delta are for one customer.
status <- dphist(
  "labels", "data/items_online_retail.parquet", "--user", "customer", "--unit", "customer",
  "--label", "item", "--max-labels", "50", "--epsilon", "1", "--delta", "1e-6", "--quiet",
  "--output", shQuote(at("items.json")), "--table", shQuote(at("items.csv"))
)
if (status != 0) stop("dphist said what is wrong; nothing was released")

# Labels stay texts: read.csv would make numbers of some, and NA of the label "NA".
items <- read.csv(at("items.csv"), colClasses = c(label = "character"), na.strings = "",
                  encoding = "UTF-8")
first <- head(items, 15)
draw(first$label, first, at("items.svg"), "Items that most customers buy")
cat("Items released:", nrow(items), "\n")

# A saved release can be written again, in other formats too: that costs no privacy.
dphist("show", shQuote(at("items.json")), "--quiet", "--table", shQuote(at("items.parquet")))

# --- reticulate ---------------------------------------------------------------------------------

if (!requireNamespace("reticulate", quietly = TRUE)) {
  cat("reticulate is not installed: its half is left out\n")
  quit()
}
dh <- reticulate::import("dphist")

# A public data set of R, a row for each woman: ages are counted in bins with public edges.
edges <- list(20L, 25L, 30L, 35L, 40L, 45L)
counted <- dh$bin_counts(list(age = as.integer(infert$age)), column = "age", edges = edges)
mechanism <- dh$LeafCounts(epsilon = 1, bins = 5L)
cat("Promised before data are read:", as.character(mechanism$guarantee), "\n")
release <- mechanism$release(counted)
release <- release$present(record_name = "woman", title = "Women by age")

ages <- read.csv(text = release$to_csv())
draw(paste(ages$start, "to", ages$stop), ages, at("ages.svg"), "Women by age")
ages_30_to_40 <- unlist(release$value$interval(30L, 40L))
cat("Aged 30 to 40: 95 % interval from", ages_30_to_40[1], "to", ages_30_to_40[2], "\n")
release$save(at("ages.json"))
release$to_csv(at("ages.csv"))
