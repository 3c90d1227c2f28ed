// d9d-node data: makes token ids before a job, and shows the contents of files of token ids.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "actors/cli/job_options.hpp"
#include "actors/cli/running_commands.hpp"
#include "actors/cli/view/data_views.hpp"
#include "actors/cli/view/inspect_table.hpp"
#include "actors/job/process/work_progress.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/data/config/data_parts.hpp"
#include "runtime/data/corpus/megatron_corpus.hpp"
#include "runtime/data/source/prepare_part.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {
namespace {

constexpr std::int64_t documents_max = 1'000'000;
constexpr std::uint64_t tokens_shown = 200;

std::string told(const std::string& prefix, const MegatronCorpus& corpus) {
  return fmt::format("{}: {} of {}, {}", prefix, counted(corpus.num_tokens(), "token"),
                     name_of(corpus.type()), counted(corpus.num_documents(), "document"));
}

std::optional<PreparedTokens> prepare_shown(const DataPart& part, Console& console) {
  const SystemClock clock;
  WorkProgress progress(console.err, is_on_terminal(), clock);
  return prepare_part(part, [&](std::uint64_t done, std::uint64_t of) { progress.update(done, of); });
}

int prepare(const Arguments& arguments, Console& console) {
  const LoadedJob loaded = load_job(arguments.positional()[1], arguments.values("--set"));
  for (const std::string& warning : loaded.warnings) console.err << "warning: " << warning << "\n";
  bool any = false;
  for (const DataPart& part : parts_of(loaded.job.data)) {
    const auto tokens = prepare_shown(part, console);
    if (!tokens) continue;
    console.out << fmt::format("{} {}, {}\n", part.path, tokens->made ? "made" : "was there",
                               told(tokens->prefix, MegatronCorpus(tokens->prefix)));
    any = true;
  }
  D9D_REQUIRE(any,
              "data prepare: no ids are to be made; name the `cache` of data with `source: text`, `chat` or "
              "`token_lists`");
  return 0;
}

// Removes the ending .bin or .idx, if the name has one.
std::string prefix_of(std::string path) {
  for (const char* end : {".bin", ".idx"}) {
    if (path.ends_with(end)) path.resize(path.size() - 4);
  }
  return path;
}

// The lengths of all documents, the shortest first.
std::vector<std::uint64_t> lengths_of(const MegatronCorpus& corpus) {
  std::vector<std::uint64_t> lengths;
  for (std::uint64_t i = 0; i < corpus.num_documents(); ++i) {
    lengths.push_back(corpus.begin_of(i + 1) - corpus.begin_of(i));
  }
  std::ranges::sort(lengths);
  return lengths;
}

void show_document(const MegatronCorpus& corpus, std::uint64_t document,
                   const std::optional<Tokenizer>& tokenizer, Console& console) {
  const std::uint64_t begin = corpus.begin_of(document);
  const std::uint64_t length = corpus.begin_of(document + 1) - begin;
  std::vector<std::int64_t> ids(std::min(length, tokens_shown));
  corpus.read(begin, ids);
  const std::vector<std::int32_t> narrow(ids.begin(), ids.end());
  console.out << fmt::format(
      "\ndocument {}, {}\n{}{}\n", document, counted(length, "token"),
      tokenizer ? tokenizer->decode(narrow, false) : fmt::format("{}", fmt::join(ids, " ")),
      length > ids.size() ? " ..." : "");
}

int inspect(const Arguments& arguments, Console& console) {
  if (const auto format = table_format_of_name(arguments.positional()[1])) {
    return inspect_table(arguments, *format, console);
  }
  const std::string prefix = prefix_of(arguments.positional()[1]);
  D9D_REQUIRE(std::filesystem::exists(prefix + ".bin"),
              "{} is no .parquet or .arrow file, and there is no {}.bin with an .idx beside it; of text, "
              "JSONL and .npy files `d9d-node data peek JOB.yaml` shows the samples",
              arguments.positional()[1], prefix);
  const MegatronCorpus corpus(prefix);
  const std::vector<std::uint64_t> lengths = lengths_of(corpus);
  console.out << told(prefix, corpus) << "\n";
  if (lengths.empty()) return 0;
  console.out << fmt::format("tokens of a document: {} to {}, half of them have up to {}\n", lengths.front(),
                             lengths.back(), lengths[(lengths.size() - 1) / 2]);
  std::optional<Tokenizer> tokenizer;
  if (const auto file = arguments.value("--tokenizer")) tokenizer = Tokenizer::from_file(*file);
  const auto shown =
      static_cast<std::uint64_t>(arguments.integer("--documents", 0, documents_max).value_or(1));
  for (std::uint64_t i = 0; i < std::min(shown, corpus.num_documents()); ++i) {
    show_document(corpus, i, tokenizer, console);
  }
  return 0;
}

int data(const Arguments& arguments, Console& console) {
  const std::string& what = arguments.positional()[0];
  if (what == "tokenize") return show_tokens(arguments, console);
  D9D_REQUIRE(arguments.positional().size() == 2, "data {}: expected one file", what);
  if (what == "prepare") return prepare(arguments, console);
  if (what == "peek") return peek_samples(arguments, console);
  D9D_REQUIRE(what == "inspect", "data: unknown word {}; {}", what,
              config::suggestion(what, {"prepare", "inspect", "peek", "tokenize"}));
  return inspect(arguments, console);
}

}  // namespace

Command data_command() {
  return {
      .name = "data",
      .positional =
          "prepare JOB.yaml | peek JOB.yaml | inspect PREFIX|FILE|FOLDER | tokenize FILE|MODEL_DIR TEXT",
      .summary =
          "make the token ids of a job's texts once; show samples, files of token ids, tables, tokens of a "
          "text",
      .positional_min = 2,
      .positional_max = 3,
      .options = {set_option(),
                  {"--tokenizer", "FILE", "inspect: show text instead of ids"},
                  {"--documents", "N",
                   "inspect: show so many documents or rows from the beginning (default 1)"},
                  {"--samples", "N", "peek: show so many from the beginning (default 2)"},
                  {"--rate", "SECONDS",
                   "peek: make microbatches for so long and tell how fast one loader is"}},
      .run = data,
      .details =
          "prepare  makes the token ids of every source text, chat or token_lists of the job in the folder\n"
          "         data.cache, unless it has them; run and check then map them. Hosts may share the folder\n"
          "peek     the first samples of the job's data: ids, how many have a label, and their text\n"
          "inspect  what PREFIX.bin and PREFIX.idx hold (those of prepare, or of Megatron's tools), a "
          ".parquet or .arrow\n"
          "         file, or a folder of them, such as `datasets` saves\n"
          "tokenize what a tokenizer.json, a .model of SentencePiece or a model's folder makes of a text\n",
      .examples = {"data prepare job.yaml --set data.cache=/shared/tokens",
                   "data inspect corpus_text_document --tokenizer model/tokenizer.json",
                   "data inspect wikitext/train --documents 3", "data peek job.yaml --samples 3",
                   "data peek job.yaml --samples 0 --rate 5", "data tokenize model \"Hello world\""}};
}

}  // namespace d9d
