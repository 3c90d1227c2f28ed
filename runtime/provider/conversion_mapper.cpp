#include "runtime/provider/conversion_mapper.hpp"

#include <filesystem>

#include "runtime/base/config/problems.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/state/convert/rule_mapper.hpp"
#include "runtime/state/mapper/adapters.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/pattern.hpp"

namespace d9d {
namespace {

Names unused_by(const StateMapper& mapper, Names stored) {
  for (const auto& name : inputs_of(mapper)) stored.erase(name);
  return stored;
}

ConversionMapper by_rules(const ModelFiles& files, const std::string& file) {
  const ConversionRules rules = read_conversion_rules(file);
  TensorMap shapes;
  for (const auto& name : files.names()) shapes[name] = files.shape_only(name);
  try {
    RuleMapper made = mapper_by_rules(rules, shapes);
    return {made.mapper, rules.dtype, std::move(made.dtypes), unused_by(*made.mapper, files.names())};
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), file);
  }
}

// Those that `may_stay_behind` matches; an input error for others.
Names left_out_by(const StateMapper& mapper, const ModelFiles& files, const std::string& name,
                  const std::vector<std::string>& may_stay_behind) {
  Names unused = unused_by(mapper, files.names());
  const Names strange = without_matches(unused, may_stay_behind);
  D9D_REQUIRE(strange.empty(), "{} holds {} that the mapper {} does not know: {}", files.directory(),
              counted(strange.size(), "tensor"), name, to_text(strange));
  return unused;
}

// Null without a config.json: then there are the mappers of plugins only.
std::shared_ptr<FamilyModel> model_of(const ModelFiles& files) {
  const std::filesystem::path config = std::filesystem::path(files.directory()) / "config.json";
  return std::filesystem::exists(config) ? read_hugging_face_config(config) : nullptr;
}

ConversionMapper by_form(const FamilyModel& model, const FolderForm& form, const ModelFiles& files) {
  const MapperPtr mapper = sequential({model.folder_to_parameters(files.names()), form.from_parameters});
  return {mapper, {}, {}, left_out_by(*mapper, files, form.name, model.unread_in_folder(files.names()))};
}

}  // namespace

ConversionMapper choose_conversion_mapper(const ModelFiles& files, const std::string& choice,
                                          const NamedMappers& named) {
  if (choice.empty()) return {identities(files.names()), {}, {}, {}};
  if (choice.find_first_of("./") != std::string::npos) return by_rules(files, choice);
  if (const auto mapper = named.make_mapper(choice, files.names()))
    return {mapper, {}, {}, left_out_by(*mapper, files, choice, {})};
  std::vector<FolderForm> forms;
  const auto model = model_of(files);
  if (model) forms = model->folder_forms();
  for (const FolderForm& form : forms)
    if (form.name == choice) return by_form(*model, form, files);
  std::string known;
  for (const FolderForm& form : forms) known += fmt::format("\n  {}: {}", form.name, form.meaning);
  for (const std::string& name : named.mapper_names()) known += fmt::format("\n  {}: a plugin's", name);
  throw Error(ErrorKind::input,
              fmt::format("no mapper for {} is called {}; a file of rules is given by its path, such as "
                          "./rules.yaml{}{}",
                          files.directory(), choice, known.empty() ? "" : "; by name there are", known));
}

}  // namespace d9d
