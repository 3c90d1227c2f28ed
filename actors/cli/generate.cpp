// d9d-node generate: makes texts with a Hugging Face folder, without a job.
#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "actors/cli/running_commands.hpp"
#include "actors/cli/use_device.hpp"
#include "actors/cli/work_options.hpp"
#include "runtime/base/config/parse.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/data/chat/prompt_writer.hpp"
#include "runtime/data/source/text/prompt_lines.hpp"
#include "runtime/device/device.hpp"
#include "runtime/family/position_limit.hpp"
#include "runtime/job/model_tokenizer.hpp"
#include "runtime/model_folder/given_sampling.hpp"
#include "runtime/state/disk/disk_error.hpp"
#include "runtime/text/model_use.hpp"
#include "runtime/text/stop_texts.hpp"
#include "runtime/tokenizer/text_ends.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {
namespace {

using Texts = std::vector<std::vector<std::int64_t>>;

// The tokenizer that is named, or the model's own. For an adapter: its own if it has one,
// else its base model's.
std::string tokenizer_file(const Disk& disk, const std::string& model, const Arguments& arguments) {
  if (const auto file = arguments.value("--tokenizer")) return *file;
  auto file = tokenizer_in(model);
  if (!file) file = tokenizer_in(folder_of_model(disk, model, base_given(arguments)));
  if (file) return *file;
  try {
    Tokenizer::from_file(model);  // its error names the files that the folder has instead
  } catch (const Error& error) {
    throw Error(error.kind(),
                fmt::format("{}; name the model's tokenizer with --tokenizer FILE", error.what()));
  }
  return model;
}

struct GivenPrompt {
  std::string text;
  bool is_chat = false;  // made by the chat template, which has written special tokens, too
};

// The same as data.template_arguments in a job file.
std::map<std::string, nlohmann::json> template_arguments(const Arguments& arguments) {
  std::map<std::string, nlohmann::json> given;
  for (const std::string& assignment : arguments.values("--template-argument")) {
    const std::size_t sign = assignment.find('=');
    D9D_REQUIRE(sign != std::string::npos && sign > 0,
                "--template-argument {}: expected NAME=VALUE, as in enable_thinking=false", assignment);
    given[assignment.substr(0, sign)] =
        config::to_json(config::parse(assignment.substr(sign + 1), "--template-argument"));
  }
  return given;
}

// Prompts of the command line, then one for each line of the file. Rows of messages go through the
// tokenizer's chat template. With --chat the other prompts do, too, as messages of a user.
std::vector<GivenPrompt> prompts_given(const std::string& tokenizer, const Arguments& arguments) {
  D9D_REQUIRE(arguments.has("--prompt") || arguments.has("--prompts"),
              "there is no prompt: give --prompt TEXT, or --prompts FILE with one in each line");
  TemplateUse use;
  use.tokenizer = tokenizer;
  use.chat_template = arguments.value("--chat-template");
  use.arguments = template_arguments(arguments);
  use.today = true;
  PromptWriter writer(use);
  const bool chat = arguments.has("--chat");
  std::vector<GivenPrompt> prompts;
  const auto add = [&](std::string text, bool is_chat, const std::string& where) {
    if (chat && !is_chat) text = writer.of_text(text, where);
    prompts.push_back({std::move(text), chat || is_chat});
  };
  for (const std::string& prompt : arguments.values("--prompt")) add(prompt, false, "--prompt");
  if (const auto file = arguments.value("--prompts")) {
    const auto write = [&](const RowJson& messages, const RowJson& row, const std::string& where) {
      return writer.of_messages(messages, row, where);
    };
    for_each_prompt({*file}, "prompt", write, [&](const PromptLine& line) {
      add(std::string(line.text), line.is_chat, text_of(line.place));
    });
  }
  writer.say_unread();
  const bool any_chat = std::ranges::any_of(prompts, &GivenPrompt::is_chat);
  for (const char* option : {"--chat-template", "--template-argument"})
    if (!any_chat && arguments.has(option))
      log::warn("{} has no effect: no prompt goes through a chat template; give --chat", option);
  D9D_REQUIRE(!prompts.empty(), "there is no prompt in the file: write one in each line");
  return prompts;
}

Texts encoded(const Tokenizer& tokenizer, const std::vector<GivenPrompt>& prompts) {
  Texts texts;
  const auto scratch = tokenizer.make_scratch();
  for (const GivenPrompt& prompt : prompts) {
    std::vector<std::int32_t> ids;
    if (prompt.is_chat) {
      tokenizer.encode(prompt.text, false, *scratch, ids);
    } else {
      tokenizer.encode_prompt(prompt.text, *scratch, ids);
    }
    D9D_REQUIRE(!ids.empty(), "prompt {} is empty; give at least one token to begin with", texts.size());
    texts.emplace_back(ids.begin(), ids.end());
  }
  return texts;
}

std::vector<std::int32_t> narrow(std::span<const std::int64_t> ids) {
  return {ids.begin(), ids.end()};
}

void add_to(GenerateOptions& options, const StopTexts& stops) {
  options.ends = stops.tokens();
  if (stops.has_texts())
    options.ends_here = [&stops](std::span<const std::int64_t> text) { return stops.end(text); };
}

at::ScalarType dtype_of_use(const Arguments& arguments) {
  const std::string name = arguments.value("--dtype").value_or("float32");
  D9D_REQUIRE(name == "float32" || name == "bfloat16", "--dtype is {}; choose float32 or bfloat16", name);
  return name == "float32" ? at::kFloat : at::kBFloat16;
}

// How many new tokens if no number was asked for: 64, or fewer when the model has fewer positions left.
std::int64_t usual_length(const LoadedModel& model, const Texts& prompts) {
  constexpr std::int64_t usual = 64;
  std::size_t longest = 0;
  for (const auto& ids : prompts) longest = std::max(longest, ids.size());
  const std::int64_t room = position_limit(*model.config) - static_cast<std::int64_t>(longest);
  return std::clamp<std::int64_t>(room, 1, usual);
}

GenerateOptions options_given(const Disk& disk, const std::string& directory, const Arguments& arguments) {
  GenerateOptions options;
  const GivenSampling given = sampling_in(disk, directory);
  for (const std::string& word : given.words) log::warn("{}", word);
  options.temperature = arguments.number("--temperature").value_or(given.temperature.value_or(0.8));
  options.top_k = arguments.integer("--top-k", 0, 1 << 20).value_or(given.top_k.value_or(40));
  options.top_p = arguments.number("--top-p").value_or(given.top_p.value_or(1.0));
  options.repetition_penalty =
      arguments.number("--repetition-penalty").value_or(given.repetition_penalty.value_or(1.0));
  options.seed = static_cast<std::uint64_t>(arguments.integer("--seed", 0, INT64_MAX).value_or(0));
  options.sequences = arguments.integer("--batch", 1, 4096).value_or(8);
  return options;
}

std::string line_of(std::size_t sample, const std::string& prompt, const std::string& text,
                    const std::vector<std::int64_t>& tokens) {
  const nlohmann::ordered_json line{
      {"sample", sample}, {"prompt", prompt}, {"text", text}, {"tokens", tokens}};
  return shown_json(line) + "\n";
}

void write_results(Disk& disk, const std::string& path, const std::vector<GivenPrompt>& prompts,
                   const std::vector<std::string>& texts, const Texts& made) {
  std::string lines;
  for (std::size_t i = 0; i < prompts.size(); ++i) lines += line_of(i, prompts[i].text, texts[i], made[i]);
  write_text(disk, path, lines);
}

int generate_text(const Arguments& arguments, Console& console) {
  use_all_cores_unless_told();
  load_families_given(arguments);
  const auto device = device_given(arguments);
  require_other_output(arguments, {"--prompts", "--tokenizer"});
  PosixDisk disk;
  const std::string& directory = arguments.positional().front();
  const at::ScalarType dtype = dtype_of_use(arguments);
  const std::string file = tokenizer_file(disk, directory, arguments);
  const std::vector<GivenPrompt> prompts = prompts_given(file, arguments);
  const Tokenizer tokenizer = Tokenizer::from_file(file);
  const Texts ids = encoded(tokenizer, prompts);
  GenerateOptions options =
      options_given(disk, folder_of_model(disk, directory, base_given(arguments)), arguments);
  const StopTexts stops(tokenizer, arguments.values("--stop"), "--stop");
  add_to(options, stops);
  if (const auto end = eos_id_of(tokenizer, file)) options.ends.push_back(*end);
  const LoadedModel model =
      load_hugging_face_model(disk, directory, dtype, device->place(), base_given(arguments));
  options.max_new_tokens = arguments.integer("--tokens", 1, 10'000'000).value_or(usual_length(model, ids));
  const auto begin = std::chrono::steady_clock::now();
  const Texts made = generate(model, ids, options);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::int64_t tokens = 0;
  for (const auto& text : made) tokens += std::ssize(text);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    texts.push_back(stops.cut(tokenizer.decode_behind(narrow(ids[i]), narrow(made[i]))));
  }
  if (const auto out = arguments.value("--out")) {
    write_results(disk, *out, prompts, texts, made);
    console.out << fmt::format("{} for {} in {:.2f} s, {:.1f} a second; written to {}\n",
                               counted(tokens, "token"), counted(std::ssize(prompts), "prompt"),
                               seconds.count(), static_cast<double>(tokens) / seconds.count(), *out);
    return 0;
  }
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    console.out << (i > 0 ? "\n" : "") << prompts[i].text << texts[i] << "\n";
  }
  return 0;
}

}  // namespace

Command generate_command() {
  return {
      .name = "generate",
      .positional = "MODEL_DIR",
      .summary =
          "text from a Hugging Face folder or an adapter's, until the model ends it or --tokens are made",
      .positional_min = 1,
      .positional_max = 1,
      .options =
          {{"--tokenizer", "FILE",
            "the model's tokenizer; MODEL_DIR/tokenizer.json, else .model, by default"},
           {"--prompt", "TEXT", "how a text begins; repeated: several texts", true},
           {"--prompts", "FILE",
            "a prompt in each line: text, or .jsonl with the key \"prompt\" or \"messages\""},
           {"--chat", "", "each prompt is what a user says: the tokenizer's chat template writes it"},
           {"--chat-template", "FILE|NAME", "another template than the tokenizer's own"},
           {"--template-argument", "NAME=VALUE",
            "what the template asks for, as in enable_thinking=false; VALUE is YAML", true},
           {"--tokens", "N", "new tokens of a text at most, 64 by default"},
           {"--temperature", "T",
            "0 takes the most likely token; by default what MODEL_DIR/generation_config.json samples with, "
            "else 0.8"},
           {"--top-k", "K", "choose among the K most likely tokens, 0 = all; by default as there, else 40"},
           {"--top-p", "P",
            "choose among the most likely tokens that have this share; by default as there, else 1 = all"},
           {"--repetition-penalty", "R",
            "above 1 makes tokens that were there already less likely; by default as there, else 1 = none"},
           {"--stop", "TEXT", "end a text after this token or text, too", true},
           {"--seed", "S", "of the choice; 0 by default"},
           {"--batch", "N", "texts that are computed at once; 8 by default"},
           {"--dtype", "TYPE", "float32, the default, or bfloat16"},
           base_option(),
           families_option(),
           device_option(),
           {"--out", "RESULTS.jsonl",
            "gets a line for each prompt: sample, prompt, text, tokens; otherwise texts are printed"}},
      .run = generate_text,
      .examples = {"generate runs/quickstart/export --prompt \"And God\" --tokens 100 --top-p 0.9",
                   "generate model --prompts questions.jsonl --temperature 0 --out answers.jsonl"}};
}

}  // namespace d9d
