#include "runtime/resume/changed_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/resume/file_print.hpp"
#include "runtime/resume/input_files.hpp"
#include "runtime/state/disk/checksum.hpp"

namespace d9d {
namespace {

using Json = nlohmann::json;
using Prints = std::vector<FilePrint>;

constexpr std::size_t prints_max = 1000;  // the most prints in a manifest; more are joined to one
constexpr std::array groups{"data", "evaluation", "weights", "adapters"};

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

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

bool is_same(const FilePrint& a, const FilePrint& b) {
  return a.bytes == b.bytes && a.checksum == b.checksum;
}

// Whether the file now begins with its whole old content.
bool has_grown(const Disk& disk, const FilePrint& then, const FilePrint& now) {
  if (now.bytes <= then.bytes || !disk.exists(now.name)) return false;
  return is_same(print_of(disk, now.name, PrintBlocks::ends, then.bytes), then);
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
    if (is_same(then[i], now[i])) continue;
    const bool grown = (what == "data" || what == "evaluation") && has_grown(disk, then[i], now[i]);
    // Growth of a file in the middle moves the samples of all later files, so it does not count as appended.
    changes.push_back({what, told_file(then[i], now[i], grown), grown && i + 1 == then.size()});
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

std::string told_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string told_place(bool same_before, std::uint64_t cursor) {
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
        if constexpr (requires { source.parts; }) return true;  // lengths decide how parts are mixed
        if constexpr (requires { source.epochs; })
          if (source.epochs.count != 1) return true;  // later epochs begin at another step
        if constexpr (requires { source.validation; })
          if (source.validation) return true;  // the number of rows decides which are held out
        if constexpr (requires { source.shuffle; }) return source.shuffle || source.order.sorted.has_value();
        if constexpr (requires { source.order; }) return source.order.sorted.has_value();
        return false;
      },
      data);
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

std::vector<std::string> told_changes(const std::vector<ChangedInput>& changes,
                                      const std::vector<std::string>& tokenizer, const JobConfig& job,
                                      const std::string& checkpoint, std::uint64_t cursor) {
  std::vector<std::string> lines;
  for (const ChangedInput& change : changes) {
    if (change.what == "weights" && !job.inference) {
      throw Error(
          ErrorKind::input,
          fmt::format("the frozen weights changed since {} was written: {}. It holds only trained weights "
                      "(checkpoint_only_trainable_parameters), which do not fit another model. "
                      "Restore the old weights, or start with --fresh to begin at step 1",
                      checkpoint, change.told));
    }
    if (change.what == "data")
      lines.push_back(fmt::format("data changed since {} was written: {}. {}", checkpoint, change.told,
                                  told_place(change.grown && !is_moved_by_growth(job.data), cursor)));
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
                    checkpoint, told_list(tokenizer)));
  return lines;
}

}  // namespace d9d
