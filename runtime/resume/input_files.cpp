#include "runtime/resume/input_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "runtime/base/error.hpp"
#include "runtime/data/config/data_parts.hpp"
#include "runtime/data/file/table_files.hpp"
#include "runtime/data/source/text/documents.hpp"
#include "runtime/data/source/text/records.hpp"
#include "runtime/peft/peft_config.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;

bool is_file(const std::string& path) {
  std::error_code unreadable;
  return fs::is_regular_file(path, unreadable);
}

// Adds every value that names a file: only the plugin knows the meaning of its keys.
void add_named_files(const config::Json& keys, std::vector<std::string>& files) {
  if (keys.is_string() && is_file(keys.get<std::string>())) files.push_back(keys.get<std::string>());
  if (!keys.is_structured()) return;
  for (const auto& [key, value] : keys.items()) add_named_files(value, files);
}

struct FilesOfSource {
  std::vector<std::string> operator()(const SyntheticDataConfig&) const { return {}; }
  std::vector<std::string> operator()(const TextDataConfig& text) const { return files_of(text); }
  std::vector<std::string> operator()(const TokensDataConfig& tokens) const {
    std::vector<std::string> files{tokens.tokens};
    for (const auto& more : {tokens.labels, tokens.targets, tokens.position_ids, tokens.attention_mask})
      if (more) files.push_back(*more);
    return files;
  }
  std::vector<std::string> operator()(const MegatronDataConfig& corpus) const {
    return {corpus.prefix + ".bin", corpus.prefix + ".idx"};
  }
  std::vector<std::string> operator()(const ChatDataConfig& chat) const {
    auto files = files_of(chat.files, chat.format, chat.split);
    for (const auto& more : {chat.chat_template, chat.tools})
      if (more) files.push_back(*more);
    return files;
  }
  std::vector<std::string> operator()(const TokenListsDataConfig& lists) const {
    return files_of(lists.files, lists.format, lists.split);
  }
  std::vector<std::string> operator()(const PromptsDataConfig& prompts) const {
    auto files = expand_files(prompts.files);
    for (const auto& more : {prompts.chat_template, prompts.tools})
      if (more) files.push_back(*more);
    return files;
  }
  std::vector<std::string> operator()(const OwnDataConfig& own) const {
    std::vector<std::string> files;
    add_named_files(config::Codec<OwnDataConfig>::write(own), files);
    return files;
  }
};

// Adds the files of the section, with patterns resolved, and its tokenizer and cache.
void add_data(const std::string& section, const DataConfig& data, std::vector<JobInput>& inputs) {
  for (const std::string& file : data_files(data)) inputs.push_back({section, file});
  for (const DataPart& part : parts_of(data)) {
    std::visit(
        [&](const auto& source) {
          if constexpr (requires { source.tokenizer; })
            if (!source.tokenizer.empty()) inputs.push_back({section + ".tokenizer", source.tokenizer});
          if constexpr (requires { source.cache; })
            if (source.cache) inputs.push_back({section + ".cache", *source.cache});
        },
        part.source);
  }
}

}  // namespace

std::string file_name(const std::string& path) {
  return fs::path(path).filename().string();
}

std::vector<std::string> data_files(const DataConfig& data) {
  std::vector<std::string> all;
  for (const DataPart& part : parts_of(data)) {
    try {
      const auto files = std::visit(FilesOfSource(), part.source);
      std::copy_if(files.begin(), files.end(), std::back_inserter(all), is_file);
    } catch (const Error&) {
      continue;
    }
  }
  return all;
}

std::vector<std::string> model_files_in(const std::string& folder) {
  constexpr std::array endings{".safetensors", ".bin", ".pt", ".pth", ".gguf"};
  constexpr std::array names{"config.json", "adapter_config.json", "model.safetensors.index.json"};
  std::vector<std::string> files;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    const std::string name = entry.path().filename().string();
    const bool is_ours = std::find(names.begin(), names.end(), name) != names.end() ||
                         std::find(endings.begin(), endings.end(), entry.path().extension()) != endings.end();
    if (is_ours && !name.starts_with(".") && is_file(entry.path().string()))
      files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> adapter_folders(const JobConfig& job) {
  const auto* family = std::get_if<FamilyProvider>(&job.model_provider);
  std::vector<std::string> folders;
  if (family == nullptr || !family->peft) return folders;
  for (const MethodAt& method : methods_of(*family->peft)) {
    const auto* lora = std::get_if<LoraConfig>(method.config);
    if (lora != nullptr && lora->from) folders.push_back(*lora->from);
  }
  return folders;
}

std::vector<JobInput> inputs_of(const JobConfig& job) {
  std::vector<JobInput> inputs;
  if (const auto& source = job.trainer.model_stage_factory.source_checkpoint)
    inputs.push_back({job.inference ? "inference.model_stage_factory.source_checkpoint"
                                    : "trainer.model_stage_factory.source_checkpoint",
                      *source});
  const auto* family = std::get_if<FamilyProvider>(&job.model_provider);
  if (family != nullptr && family->from) inputs.push_back({"model_provider.from", *family->from});
  for (const std::string& folder : adapter_folders(job))
    inputs.push_back({"model_provider.peft.from", folder});
  add_data("data", job.data, inputs);
  if (job.evaluation) add_data("evaluation.data", job.evaluation->data, inputs);
  for (const std::string& plugin : job.plugins) inputs.push_back({"plugins", plugin});
  return inputs;
}

}  // namespace d9d
