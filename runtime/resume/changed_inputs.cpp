#include "runtime/resume/changed_inputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/data/file/decoder.hpp"
#include "runtime/data/file/file_format.hpp"
#include "runtime/resume/file_print.hpp"
#include "runtime/resume/input_files.hpp"
#include "runtime/state/disk/checksum.hpp"

namespace d9d {
namespace {

using Json = nlohmann::json;
using Prints = std::vector<FilePrint>;

constexpr std::size_t prints_max = 1000;  // the most prints in a manifest; more are joined to one
constexpr std::array groups{"data", "evaluation", "weights", "adapters"};

// One print of many files, for which a list would be too long for the manifest.
FilePrint print_of_all(const Prints& prints) {
  FilePrint all{counted(prints.size(), "file"), 0, 0};
  std::string text;
  for (const FilePrint& print : prints) {
    all.bytes += print.bytes;
    text += hex_of(print.checksum);
  }
  all.checksum = checksum_of(text);
  return all;
}

Json prints_of(const Disk& disk, const std::vector<std::string>& files, PrintBlocks blocks) {
  Prints prints;
  for (const std::string& file : files) {
    try {
      prints.push_back(print_of(disk, file, blocks));
    } catch (const Error&) {
      continue;  // the code that reads the file will report the error
    }
  }
  if (prints.size() > prints_max) prints = {print_of_all(prints)};
  return json_of(prints);
}

// The files of weights to compare. config.json, which says how to read them, counts only in an inference
// job: a training job compares it as keys of the job.
std::vector<std::string> weight_files(const JobConfig& job) {
  const auto& factory = job.trainer.model_stage_factory;
  std::vector<std::string> files;
  if (factory.source_checkpoint && (job.inference || factory.checkpoint_only_trainable_parameters))
    files = model_files_in(*factory.source_checkpoint);
  if (!job.inference) std::erase_if(files, [](const auto& file) { return file_name(file) == "config.json"; });
  return files;
}

// Whether the file now begins with its whole old content.
bool has_grown(const Disk& disk, const FilePrint& then, const FilePrint& now) {
  if (now.bytes <= then.bytes || !disk.exists(now.name)) return false;
  return have_same_content(print_of(disk, now.name, PrintBlocks::ends, then.bytes), then);
}

// The last bytes of the old content of a file that has grown, enough for a blank line.
std::string old_end_of(const Disk& disk, const FilePrint& then, const FilePrint& now) {
  const auto file = disk.open(now.name);
  std::string first(std::min<std::uint64_t>(then.bytes, 16), '\0'),
      end(std::min<std::uint64_t>(then.bytes, 4), '\0');
  file->read(0, first.data(), first.size());
  if (compression_of(first) != Compression::none) return {};  // the end of its text is not that of its bytes
  file->read(then.bytes - end.size(), end.data(), end.size());
  return end;
}

std::string told_file(const FilePrint& then, const FilePrint& now, bool grown) {
  if (now.bytes == then.bytes) return fmt::format("{} has other bytes than then", now.name);
  return fmt::format("{} has {} bytes and had {}{}", now.name, now.bytes, then.bytes,
                     grown ? " (which are as they were)" : "");
}

void compare_lists(const Disk& disk, const std::string& what, const Prints& then, const Prints& now,
                   std::vector<ChangedInput>& changes) {
  const std::size_t both = std::min(then.size(), now.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (have_same_content(then[i], now[i])) continue;
    const bool grown = (what == "data" || what == "evaluation") && has_grown(disk, then[i], now[i]);
    // Growth of a file in the middle moves the samples of all later files, so it does not count as appended.
    changes.push_back({what, told_file(then[i], now[i], grown), grown && i + 1 == then.size()});
    if (!changes.back().grown) return;
    changes.back().file = now[i].name;
    changes.back().old_end = old_end_of(disk, then[i], now[i]);
    return;
  }
  if (now.size() > both)
    changes.push_back(
        {what,
         fmt::format("{} and {} after it", now[both].name, counted(now.size() - both - 1, "more file")) +
             " were added",
         true});
  if (then.size() > both)
    changes.push_back({what, fmt::format("{} no longer belongs to it", then[both].name), false});
}

// Where shards take turns of one sample, they read the samples in their order, however many there are.
bool is_moved_by_growth(const SampleOrder& order) {
  return order.sorted ||
         (order.shards && (order.shards->mode != ShardMode::sequential || order.shards->turn != 1));
}

// The unit of a file's documents where it is plain text.
std::optional<DocumentUnit> text_unit_of(const auto& source, FileFormat format) {
  if (format == FileFormat::csv || format == FileFormat::tsv) return DocumentUnit::line;
  if (format != FileFormat::text) return std::nullopt;
  if constexpr (requires { source.document; }) return source.document;
  return DocumentUnit::line;  // a prompt a line
}

bool goes_on_in(const auto& source, const ChangedInput& change) {
  if constexpr (!requires { source.files; }) {
    return false;
  } else {
    FileFormat format = format_of_ending(change.file).value_or(FileFormat::text);
    if constexpr (requires { source.format; })
      if (source.format) format = file_format(*source.format);
    const auto unit = text_unit_of(source, format);
    if (!unit) return false;
    if (*unit == DocumentUnit::file) return true;
    const std::string_view end = change.old_end;
    if (*unit == DocumentUnit::line) return !end.ends_with('\n');
    return !end.ends_with("\n\n") && !end.ends_with("\n\r\n");
  }
}

[[noreturn]] void refuse_weights(const std::string& checkpoint, const ChangedInput& change,
                                 std::string_view remedy) {
  throw Error(
      ErrorKind::input,
      fmt::format("the frozen weights changed since {} was written: {}. It holds only trained weights "
                  "(checkpoint_only_trainable_parameters), which do not fit another model. "
                  "Restore the old weights, or {}",
                  checkpoint, change.told, remedy));
}

std::string told_place(const DataConfig& data, const ChangedInput& change, std::uint64_t cursor) {
  const bool same_before = keeps_samples(data, change);
  if (same_before && goes_on(data, change))
    return fmt::format(
        "The samples before it are the same but for the last one, whose text may go on in what was added, so "
        "the run goes on with sample {}",
        cursor);
  if (same_before)
    return fmt::format("The samples before it are the same, so the run goes on with sample {}", cursor);
  return fmt::format(
      "Sample {}, the next one, is counted in the new data: some samples may be read again and "
      "others never. Start with --fresh to begin at step 1",
      cursor);
}

}  // namespace

bool is_moved_by_growth(const DataConfig& data) {
  return std::visit(
      [](const auto& source) {
        using Source = std::decay_t<decltype(source)>;
        if (std::is_same_v<Source, OwnDataConfig>) return true;  // only the plugin knows
        if constexpr (requires { source.parts; }) return true;   // lengths decide how parts are mixed
        if constexpr (requires { source.epochs; })
          if (source.epochs.count != 1) return true;  // later epochs begin at another step
        if constexpr (requires { source.validation; })
          if (source.validation) return true;  // the number of rows decides which are held out
        if constexpr (requires { source.samples; })
          if (source.samples == SampleUnit::packed) return true;  // the last documents are packed anew
        if constexpr (requires { source.shuffle; })
          if (source.shuffle) return true;
        if constexpr (requires { source.order; }) return is_moved_by_growth(source.order);
        return false;
      },
      data);
}

bool keeps_samples(const DataConfig& data, const ChangedInput& change) {
  if (!change.grown || is_moved_by_growth(data)) return false;
  return std::visit(
      [&](const auto& source) {
        if constexpr (requires { source.chat_template; })  // these have a part in every row
          return change.file.empty() || (source.chat_template != change.file && source.tools != change.file);
        return true;
      },
      data);
}

bool goes_on(const DataConfig& data, const ChangedInput& change) {
  return !change.file.empty() &&
         std::visit([&](const auto& source) { return goes_on_in(source, change); }, data);
}

Json input_prints(const Disk& disk, const JobConfig& job) {
  Json prints{{"data", prints_of(disk, data_files(job.data), PrintBlocks::ends)}};
  if (job.evaluation)
    prints["evaluation"] = prints_of(disk, data_files(job.evaluation->data), PrintBlocks::ends);
  if (const auto files = weight_files(job); !files.empty())
    prints["weights"] = prints_of(disk, files, PrintBlocks::spread);
  std::vector<std::string> adapters;
  for (const std::string& folder : adapter_folders(job)) {
    const auto files = model_files_in(folder);
    adapters.insert(adapters.end(), files.begin(), files.end());
  }
  if (!adapters.empty()) prints["adapters"] = prints_of(disk, adapters, PrintBlocks::spread);
  return prints;
}

std::vector<ChangedInput> changed_inputs(const Disk& disk, const Json& then, const Json& now) {
  std::vector<ChangedInput> changes;
  for (const char* group : groups) {
    if (!then.is_object() || !then.contains(group) || !now.contains(group)) continue;
    compare_lists(disk, group, prints_from(then.at(group)), prints_from(now.at(group)), changes);
  }
  return changes;
}

std::vector<std::string> changed_tokenizer(const std::vector<ManifestFile>& files,
                                           const TokenizerFiles& now) {
  // The files that decide the ids of a text. A checkpoint has an exact copy of each.
  constexpr std::array names{"tokenizer.json", "tokenizer.model",   "vocab.json",
                             "merges.txt",     "added_tokens.json", "chat_template.jinja"};
  std::vector<std::string> changed;
  for (const char* name : names) {
    const auto then =
        std::find_if(files.begin(), files.end(), [&](const ManifestFile& file) { return file.name == name; });
    const auto found = now.find(name);
    if (then == files.end() || found == now.end()) continue;
    if (checksum_of(found->second) != then->checksum) changed.emplace_back(name);
  }
  return changed;
}

void require_same_frozen_weights(const Disk& disk, const JobConfig& job, const std::string& checkpoint) {
  const std::vector<std::string> files = job.inference ? std::vector<std::string>() : weight_files(job);
  const auto extra = try_parse_json<Json>(read_manifest(disk, checkpoint).extra);
  if (files.empty() || !extra.is_object()) return;
  const Json now{{"weights", prints_of(disk, files, PrintBlocks::spread)}};
  for (const ChangedInput& change : changed_inputs(disk, extra.value(inputs_key, Json()), now))
    refuse_weights(checkpoint, change,
                   "name their folder with --set trainer.model_stage_factory.source_checkpoint=FOLDER");
}

std::vector<std::string> told_changes(const std::vector<ChangedInput>& changes,
                                      const std::vector<std::string>& tokenizer, const JobConfig& job,
                                      const std::string& checkpoint, std::uint64_t cursor) {
  std::vector<std::string> lines;
  for (const ChangedInput& change : changes) {
    if (change.what == "weights" && !job.inference) {
      refuse_weights(checkpoint, change, "start with --fresh to begin at step 1");
    }
    if (change.what == "data")
      lines.push_back(fmt::format("data changed since {} was written: {}. {}", checkpoint, change.told,
                                  told_place(job.data, change, cursor)));
    if (change.what == "evaluation")
      lines.push_back(
          fmt::format("evaluation.data changed since {} was written: {}. Its losses cannot be compared "
                      "with earlier ones",
                      checkpoint, change.told));
    if (change.what == "adapters")
      lines.push_back(
          fmt::format("the adapter of model_provider.peft changed since {} was written: {}. Its "
                      "weights are taken from the checkpoint",
                      checkpoint, change.told));
  }
  if (!tokenizer.empty())
    lines.push_back(
        fmt::format("the tokenizer changed since {} was written ({}): its ids may stand for other "
                    "texts than those that the model has learnt",
                    checkpoint, fmt::join(tokenizer, ", ")));
  return lines;
}

}  // namespace d9d
