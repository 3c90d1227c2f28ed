#include "actors/cli/start/init.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "actors/cli/start/starter_job.hpp"
#include "actors/cli/start/tokenizer.hpp"
#include "actors/cli/work_options.hpp"
#include "runtime/base/config/parse.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/host/memory_limit.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/shell_word.hpp"
#include "runtime/data/chat/chat_rows.hpp"
#include "runtime/data/chat/template_files.hpp"
#include "runtime/data/source/text/records.hpp"
#include "runtime/family/families.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/job/job_load.hpp"
#include "runtime/launch/host_cores.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/disk/disk_error.hpp"
#include "runtime/tokenizer/codec/token_settings.hpp"
#include "runtime/tokenizer/text_ends.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "runtime/tokenizer/train/trained_tokenizer.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;
constexpr double minutes_default = 4;
constexpr double bytes_a_token = 4;  // of text, with a tokenizer that exists already

struct InitWish {
  std::string folder;  // NAME as given; the files are written there
  std::vector<std::string> files;
  double minutes = minutes_default;
};

// The command as a shell takes it.
std::string shown(const Arguments& arguments, const InitWish& wish) {
  std::string text = fmt::format("d9d-node init {}", shell_word(wish.folder));
  for (const char* option : {"--plugin", "--model", "--text", "--data"}) {
    for (const std::string& value : arguments.values(option))
      text += fmt::format(" {} {}", option, shell_word(value));
  }
  return text;
}

std::int64_t multiple_of_64(std::size_t tokens) {
  return static_cast<std::int64_t>((tokens + 63) / 64 * 64);
}

struct Written {
  StarterJob job;
  std::optional<std::string> tokenizer;  // its text
};

// Reads the texts, and notes in the job where they are and what divides them.
TextLook look_at_texts(const Arguments& arguments, const InitWish& wish, StarterJob& job) {
  const std::string field = arguments.value("--text-field").value_or("text");
  TextLook text = look_through(wish.files, field);
  if (field != "text") job.text_field = field;
  if (!text.has_rows) job.document = document_unit(text).value_or(DocumentUnit::line);
  return text;
}

Written from_scratch(const Arguments& arguments, const InitWish& wish, const HostRoom& host) {
  Written made;
  const TextLook text = look_at_texts(arguments, wish, made.job);
  const std::int64_t vocab_size =
      arguments.integer("--vocab-size", 1, vocab_size_max).value_or(vocab_size_for(text.words.bytes()));
  const TrainedBpe trained =
      train_bpe(text.words, {.vocab_size = vocab_size, .special_tokens = {end_of_text}});
  made.tokenizer = tokenizer_json(trained, {end_of_text});
  made.job.tokenizer = join_path(wish.folder, "tokenizer.json");
  made.job.eos_token = end_of_text;
  made.job.plan =
      plan_model({trained.num_tokens, multiple_of_64(trained.tokens.size()), document_unit(text).has_value()},
                 host, wish.minutes);
  made.job.minutes = minutes_of(made.job.plan, made.job.plan.model.parameters(), host);
  return made;
}

struct DataAmount {
  std::uint64_t bytes = 0;
  std::uint64_t documents = 0;
  std::uint64_t pairs = 0;  // rows {prompt, completion} of texts, which no chat template writes
};

DataAmount amount_of_rows(const std::vector<std::string>& files) {
  const ChatDataConfig usual;
  DataAmount amount;
  for_each_record(files, std::nullopt, {}, [&](const Record& record) {
    ++amount.documents;
    amount.bytes = record.bytes_read;
    amount.pairs += is_text_pair(usual, record.columns) ? 1 : 0;
  });
  D9D_REQUIRE(amount.documents > 0, "{}: there is no row in it", fmt::join(files, ", "));
  return amount;
}

// Both kinds of rows end, and only one by itself.
void require_one_kind(const DataAmount& amount, const std::vector<std::string>& files) {
  D9D_REQUIRE(
      amount.pairs == 0 || amount.pairs == amount.documents,
      "{}: {} of {} rows are {{prompt, completion}} of texts, which need an end of text, and the chat "
      "template writes one for the others; put them into two files, and write a job for each",
      fmt::join(files, ", "), amount.pairs, amount.documents);
}

// What stands around texts that no template writes, as the tokenizer's files say. An encoder's tokenizer names no end
// of a text but puts one after it.
void name_ends(const std::string& tokenizer, StarterJob& job) {
  const auto [before, after] = tokens_around_text(Tokenizer::from_file(tokenizer));
  job.eos_token = token_settings_beside(tokenizer).eos;
  if (before.size() == 1) job.bos_token = before.front();
  if (!job.eos_token && after.size() == 1) job.eos_token = after.front();
}

// An estimate from the sizes of the folder's files, as if every byte of them belonged to a weight.
std::int64_t parameters_of(const std::string& folder, const nlohmann::json& config) {
  const std::string dtype = config.value("dtype", config.value("torch_dtype", std::string("float32")));
  std::uint64_t bytes = 0;
  PosixDisk disk;
  for (const DirectoryEntry& entry : disk.list(folder)) {
    if (entry.name.ends_with(".safetensors")) bytes += entry.size;
  }
  D9D_REQUIRE(bytes > 0, "{} has no .safetensors file; give the folder of a Hugging Face model", folder);
  return static_cast<std::int64_t>(bytes / (dtype == "float32" ? 4 : 2));
}

// Reads the folder's config.json as the model's family does; input error for a family that neither d9d nor a plugin
// has.
std::shared_ptr<FamilyModel> model_of(const std::string& folder) {
  std::error_code ignored;
  D9D_REQUIRE(fs::exists(join_path(folder, "config.json"), ignored),
              "{} has no config.json; give the folder of a Hugging Face model", folder);
  return read_hugging_face_config(folder);
}

// The token that stands for a word that is left out.
std::int64_t mask_of(const std::string& tokenizer) {
  const Tokenizer words = Tokenizer::from_file(tokenizer);
  const auto named = token_settings_beside(tokenizer).mask;
  for (const std::string& mask : {named.value_or("[MASK]"), std::string("<mask>")}) {
    if (const auto id = words.token_id(mask)) return *id;
  }
  throw Error(ErrorKind::input,
              fmt::format("{} has no token for words that are left out, which an encoder learns; name it as "
                          "mask_token in tokenizer_config.json beside it",
                          tokenizer));
}

// Adapters that peft reads, if the model's linears can have them and its folders hold them; else what is left. Throws
// what is wrong with the first, if nothing helps.
void choose_what_trains(StarterJob& job) {
  using enum StarterModel::Trains;
  std::exception_ptr first;
  for (const auto trains : {peft_adapters, adapters, all}) {
    job.model->trains = trains;
    try {
      load_job(config::parse(yaml_of(job), "job.yaml"), {});
      return;
    } catch (const Error&) {
      if (!first) first = std::current_exception();
    }
  }
  std::rethrow_exception(first);
}

// The first family whose models need no keys beyond those of this job.
std::string family_for(StarterJob job) {
  for (const Family* family : families()) {
    job.family = family->name();
    try {
      load_job(config::parse(yaml_of(job), "job.yaml"), {});
      return job.family;
    } catch (const Error&) {
      if (family == families().back()) throw;
    }
  }
  return {};
}

Written tuning(const Arguments& arguments, const InitWish& wish, const std::string& folder,
               const HostRoom& host) {
  Written made;
  const std::shared_ptr<FamilyModel> model = model_of(folder);
  const nlohmann::json config = parse_json<nlohmann::json>(model->config_json());
  const auto tokenizer = find_tokenizer_file(folder);
  D9D_REQUIRE(tokenizer, "{} has no tokenizer.json and no tokenizer.model; put the model's tokenizer there",
              folder);
  made.job.family = config.value("model_type", std::string());
  made.job.model = StarterModel{.folder = folder, .parameters = parameters_of(folder, config)};
  made.job.is_chat = arguments.has("--data");
  if (!model->causal) {
    D9D_REQUIRE(
        !made.job.is_chat,
        "init: {} is an encoder, which writes no answers, so conversations teach it nothing; give --text",
        folder);
    made.job.model->mask_token_id = mask_of(tokenizer->string());
  }
  DataAmount amount;
  bool can_hold_out = false;
  if (made.job.is_chat) {
    amount = amount_of_rows(wish.files);
    can_hold_out = amount.documents >= documents_enough;
    made.job.has_template = find_chat_template(tokenizer->string(), std::nullopt).has_value();
    if (made.job.has_template) require_one_kind(amount, wish.files);
    if (!made.job.has_template || amount.pairs > 0) name_ends(tokenizer->string(), made.job);
  } else {
    const TextLook text = look_at_texts(arguments, wish, made.job);
    amount.bytes = text.words.bytes();
    can_hold_out = document_unit(text).has_value();
    name_ends(tokenizer->string(), made.job);
  }
  const auto tokens = static_cast<std::uint64_t>(static_cast<double>(amount.bytes) / bytes_a_token) + 1;
  made.job.plan = plan_tuning(tokens, made.job.model->parameters,
                              config.value("max_position_embeddings", std::int64_t{512}), can_hold_out, host,
                              wish.minutes);
  made.job.minutes = minutes_of(made.job.plan, made.job.model->parameters, host);
  return made;
}

// An encoder is a beginning of other jobs.
std::string use_of(const StarterJob& job) {
  if (job.model && job.model->mask_token_id)
    return fmt::format("use it:  model_provider.from: runs/{}/export, in a job of your own\n", job.name);
  std::string families;
  for (const std::string& plugin : job.plugins) families += fmt::format(" --plugin {}", shell_word(plugin));
  return fmt::format("use it:  d9d-node generate {}{} --prompt \"...\"\n",
                     shell_word(fmt::format("runs/{}/export", job.name)), families);
}

// Reads the job as `run` will read it before any file is written, so that nothing is left half-written.
void write(const Written& made, const InitWish& wish, Console& console) {
  const std::string job = join_path(wish.folder, "job.yaml"), yaml = yaml_of(made.job);
  PosixDisk disk;
  load_job(config::parse(yaml, job), {});
  disk.make_directories(wish.folder);
  try {
    if (made.tokenizer) write_text(disk, made.job.tokenizer, *made.tokenizer);
    write_text(disk, job, yaml);
  } catch (const Error&) {
    if (made.tokenizer) remove_quietly(disk, made.job.tokenizer);
    throw;
  }
  console.out << yaml
              << fmt::format("\nwritten: {}{}\ntrain:   d9d-node {}\n", job,
                             made.tokenizer ? " and " + made.job.tokenizer : "", shell_word(job))
              << use_of(made.job);
  if (made.job.plan.validation == 0)
    console.err << "warning: the text has too few parts to hold some out, so there is no evaluation; give "
                   "more files\n";
}

std::string name_of_run(const std::string& folder) {
  const std::string name = fs::path(folder).filename().string();
  D9D_REQUIRE(!name.empty() && name != "." && name != "..",
              "init: \"{}\" is no name; use letters, digits, `-` and `_`", folder);
  return name;
}

std::string without_last_slash(const std::string& folder) {
  const fs::path path = fs::path(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).string();
}

int init(const Arguments& arguments, Console& console, const HostRoom& host) {
  load_families_given(arguments);
  InitWish wish{.folder = without_last_slash(arguments.positional().front()),
                .files = arguments.values("--text")};
  const auto more = arguments.positional();
  const bool is_chat = arguments.has("--data");
  D9D_REQUIRE(!is_chat || wish.files.empty(), "init: give --text or --data, not both");
  if (is_chat) wish.files = arguments.values("--data");
  D9D_REQUIRE(!wish.files.empty(),
              "init: what to train on? Give --text FILE, or --model FOLDER with --text FILE or "
              "--data CONVERSATIONS.jsonl");
  wish.files.insert(wish.files.end(), more.begin() + 1, more.end());
  wish.minutes = arguments.number("--minutes").value_or(minutes_default);
  D9D_REQUIRE(wish.minutes > 0, "init: --minutes {}: give more than 0", wish.minutes);
  const auto folder = arguments.value("--model");
  D9D_REQUIRE(folder || !is_chat,
              "init: --data needs --model FOLDER: conversations teach a model that can write "
              "already; to begin from nothing, give --text");
  const std::string name = name_of_run(wish.folder);
  std::error_code ignored;
  D9D_REQUIRE(!fs::exists(wish.folder, ignored) || fs::is_directory(wish.folder, ignored),
              "{} is a file, and the job gets a folder of that name; choose another name", wish.folder);
  require_new(join_path(wish.folder, "job.yaml"));
  if (!folder) require_new(join_path(wish.folder, "tokenizer.json"));
  Written made = folder ? tuning(arguments, wish, *folder, host) : from_scratch(arguments, wish, host);
  made.job.name = name;
  made.job.command = shown(arguments, wish);
  made.job.files = wish.files;
  made.job.plugins = arguments.values("--plugin");
  if (folder) {
    choose_what_trains(made.job);
  } else {
    made.job.family = family_for(made.job);
  }
  write(made, wish, console);
  return 0;
}

}  // namespace

HostRoom this_host() {
  return {cores_of_process(HostShare{}), usable_memory()};
}

Command init_command(const HostRoom& host) {
  return {
      .name = "init",
      .positional = "NAME [FILE...]",
      .summary = "write a first job file for a text of one's own, or to fine-tune a model",
      .positional_min = 1,
      .positional_max = 100'000,
      .options = {{"--text", "FILE", "text to train on, as data.files takes it; more files may follow", true},
                  {"--model", "FOLDER",
                   "fine-tune this Hugging Face folder; without it a model is trained from scratch"},
                  {"--data", "FILE", "with --model: conversations, as data.source: chat takes them", true},
                  families_option(),
                  {"--minutes", "N", "how long the training may take, about (default 4)"},
                  {"--vocab-size", "N",
                   "of the tokenizer that is trained from the text; left out: by its size"},
                  {"--text-field", "KEY", "of files of rows: the key of the text (default: text)"}},
      .run = [host](const Arguments& arguments, Console& console) { return init(arguments, console, host); },
      .details =
          "Writes NAME/job.yaml and, from scratch, NAME/tokenizer.json; never over a file that is there. The "
          "run goes to\n"
          "runs/NAME. Paths are relative to the working directory, so start the job where this was typed.\n",
      .examples = {"init bible --text kjv.txt", "init mine --text notes/*.md --minutes 20",
                   "init answers --model runs/bible/export --data conversations.jsonl"}};
}

}  // namespace d9d
