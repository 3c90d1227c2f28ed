// d9d-node convert: makes a Hugging Face folder from another one, or a checkpoint from one of the original.
#include <fmt/format.h>

#include <limits>
#include <ostream>

#include "actors/cli/job_options.hpp"
#include "actors/cli/running_commands.hpp"
#include "actors/cli/work_options.hpp"
#include "actors/job/process/work_progress.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/plugin/plugin_library.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/provider/folder_conversion.hpp"
#include "runtime/provider/moved_run.hpp"
#include "runtime/resume/own_folders.hpp"

namespace d9d {
namespace {

constexpr std::size_t names_shown = 8;

std::string given(const Arguments& arguments, const char* option) {
  const auto value = arguments.value(option);
  D9D_REQUIRE(value && !value->empty(), "convert: {} is missing; give a folder", option);
  return *value;
}

std::optional<Dtype> dtype_given(const Arguments& arguments) {
  const auto name = arguments.value("--dtype");
  if (!name) return {};
  const auto dtype = dtype_named(*name);
  const bool floating = dtype == Dtype::float32 || dtype == Dtype::bfloat16 || dtype == Dtype::float16;
  D9D_REQUIRE(floating, "--dtype {}: expected float32, bfloat16 or float16", *name);
  return dtype;
}

void tell_left(std::vector<std::string> names, const char* what, Console& console) {
  if (names.empty()) return;
  const std::size_t count = names.size();
  names.resize(std::min(count, names_shown));
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  if (count > names_shown) list += fmt::format(" and {} more", count - names_shown);
  console.err << fmt::format("left out of the {}: {}\n", what, list);
}

// --from-dcp: a checkpoint of the original as one with which a job here goes on.
int convert_dcp(const Arguments& arguments, Console& console) {
  for (const char* other :
       {"--from", "--to", "--base", "--dtype", "--replace", "--plugin", "--shard-size", "--threads"})
    D9D_REQUIRE(!arguments.has(other), "{} is for folders of models; with --from-dcp leave it out", other);
  const auto job = arguments.value("--job");
  D9D_REQUIRE(job,
              "convert --from-dcp: --job is missing; give the job file that is to go on with the checkpoint");
  const LoadedJob loaded = load_job(std::filesystem::path(*job), arguments.values("--set"));
  for (const std::string& warning : loaded.warnings) console.err << "warning: " << warning << "\n";
  PosixDisk disk;
  const SystemClock clock;
  RunMove move{.from = *arguments.value("--from-dcp"),
               .mapper = arguments.value("--mapper").value_or(""),
               .buffers = arguments.values("--buffers"),
               .moments = arguments.has("--weights") ? Moments::left_out : Moments::read};
  if (const auto sample = arguments.integer("--next-sample", 0, std::numeric_limits<std::int64_t>::max()))
    move.next_sample = static_cast<std::uint64_t>(*sample);
  MovedRun moved;
  {
    WorkProgress progress(console.err, is_on_terminal(), clock);
    move.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
    moved = move_run(disk, loaded, move);
  }
  for (const std::string& note : moved.notes) console.err << "note: " << note << "\n";
  console.out << fmt::format(
      "moved {} to {}: {}, {}; {} done, next sample {} in the order of the job's own data\n", move.from,
      moved.checkpoint, counted(moved.num_tensors, "tensor"), size_text(moved.bytes),
      counted(moved.step, "step"), moved.next_sample);
  return 0;
}

int convert(const Arguments& arguments, Console& console) {
  if (arguments.has("--from-dcp")) return convert_dcp(arguments, console);
  for (const char* other : {"--job", "--buffers", "--next-sample", "--weights", "--set"})
    D9D_REQUIRE(!arguments.has(other), "{} is for --from-dcp; leave it out", other);
  PosixDisk disk;
  const SystemClock clock;
  Registry registry;
  FolderConversion conversion;
  conversion.from = given(arguments, "--from");
  conversion.to = given(arguments, "--to");
  conversion.base = base_given(arguments);
  conversion.mapper = arguments.value("--mapper").value_or("");
  conversion.dtype = dtype_given(arguments);
  conversion.shard_bytes_max = shard_size_given(arguments);
  conversion.threads = threads_given(arguments);
  conversion.replace = arguments.has("--replace");
  if (disk.exists(conversion.from)) require_apart("--to", conversion.to, "--from", conversion.from);
  for (const std::string& plugin : arguments.values("--plugin")) load_plugin(plugin, registry);
  ConversionSummary summary;
  {
    WorkProgress progress(console.err, is_on_terminal(), clock);
    conversion.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
    summary = convert_folder(disk, conversion, registry);
  }
  tell_left(summary.left_tensors, "tensors", console);
  tell_left(summary.left_files, "folder", console);
  console.out << fmt::format("converted {} to {}: {}, {} in {}\n", conversion.from, conversion.to,
                             counted(summary.num_tensors, "tensor"), size_text(summary.bytes),
                             counted(summary.num_shards, "file"));
  return 0;
}

constexpr const char* convert_details =
    "What is not weights (config.json, tokenizer, generation config, ...) is carried along. The new folder "
    "appears\n"
    "whole or not at all; memory does not grow with the model.\n\n"
    "--from may be the folder of an adapter that peft saved: it is merged into the model that it belongs to "
    "(--base),\n"
    "summed in fp32.\n\n"
    "--mapper is one of the names that the family of config.json has (hugging_face; of mixtures of experts "
    "whose\n"
    "folders have experts in several forms also experts_one_by_one and experts_fused; any other name is "
    "answered with\n"
    "those that there are), the name that a plugin registers, or the path of a file of rules:\n\n"
    "    dtype: bfloat16                     # of all floating-point tensors; left out: they keep theirs\n"
    "    rules:                              # one after the other; what no rule names stays as it is\n"
    "      - {do: rename, from: \"transformer.{rest*}\", to: \"model.{rest}\"}\n"
    "      - {do: stack, from: \"{layer*}.experts.{e}.up\", to: \"{layer}.experts.up\", dim: 0}\n"
    "      - {do: unstack, from: \"{layer*}.experts.down\", to: \"{layer}.experts.{e}.down\", dim: 0}\n"
    "      - {do: concatenate, from: [\"{m*}.gate\", \"{m*}.up\"], to: \"{m}.gate_up\", dim: 0}\n"
    "      - {do: chunk, from: \"{a*}.qkv\", to: [\"{a}.q\", \"{a}.k\", \"{a}.v\"], dim: 0}\n"
    "      - {do: transpose, from: \"*.c_fc.weight\", dims: [0, 1]}    # also squeeze, unsqueeze with dim\n"
    "      - {do: drop, from: \"*.inv_freq\"}\n"
    "      - {do: cast, from: \"*.norm.weight\", dtype: float32}\n\n"
    "{layer} is any text without a dot, {rest*} may have dots, * is any text.\n\n"
    "--from-dcp moves a training run of the original (d9d of Python) in its middle: it reads what\n"
    "torch.distributed.checkpoint wrote, on any mesh, and writes save-STEP into the checkpoints of\n"
    "--job, which goes on from there when it is started. Weights, moments and steps come along; the\n"
    "learning rate goes on by the step. Not moved: the place in the data (the job goes on in its own\n"
    "order, after as many samples as its steps have; --next-sample), random numbers, states of the\n"
    "task, of metrics and of trackers. Names of the original's own models are known; for a model of\n"
    "yours give a file of rules.\n";

}  // namespace

Command convert_command() {
  return {
      .name = "convert",
      .positional = "",
      .summary =
          "a Hugging Face folder as another one: names, shapes, dtype, shards; a checkpoint of the original",
      .options = {{"--from", "DIR", "the folder that is read: of a model, or of an adapter"},
                  {"--to", "DIR", "the folder that is made"},
                  base_option(),
                  {"--mapper", "NAME|FILE", "what becomes of the tensors; left out: they stay as they are"},
                  {"--dtype", "NAME", "of floating-point tensors: float32, bfloat16 or float16"},
                  shard_size_option(),
                  threads_option(),
                  {"--replace", "", "the model that --to holds"},
                  {"--from-dcp", "DIR",
                   "a checkpoint of the original, or the folder of its run: the last one"},
                  {"--job", "JOB.yaml", "with --from-dcp: the job that is to go on with it"},
                  {"--weights", "", "with --from-dcp: the weights alone, for `d9d-node export`"},
                  {"--buffers", "PATTERN", "with --from-dcp: tensors of the model that are no parameters",
                   true},
                  {"--next-sample", "N", "with --from-dcp: where the job's data goes on"},
                  set_option(),
                  {"--plugin", "LIB.so", "a library that registers mappers or families of models", true}},
      .run = convert,
      .details = convert_details,
      .examples = {"convert --from model --to fused --mapper experts_fused --dtype bfloat16",
                   "convert --from adapter --base model --to merged",
                   "convert --from-dcp checkpoints/pretrain/save-1000 --job job.yaml"}};
}

}  // namespace d9d
