# The perplexity of the results of an inference job with the task causal_lm: the exponential of the mean loss of a token.
# Fields are the words between colons, commas and braces. A sample without a token that counts has no loss.
{
  loss = "null"
  for (i = 1; i < NF; ++i) {
    if ($i == "\"loss\"") loss = $(i + 1)
    if ($i == "\"tokens\"") tokens = $(i + 1)
  }
  if (loss != "null" && tokens > 0) {
    sum += loss * tokens
    counted += tokens
  }
}
END {
  if (counted == 0) exit 1
  printf "perplexity %.4f of %d tokens\n", exp(sum / counted), counted
}
