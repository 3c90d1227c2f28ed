#include "runtime/peft/own_methods.hpp"

#include <map>
#include <string_view>
#include <utility>

#include "runtime/base/config/problems.hpp"
#include "runtime/base/error.hpp"
#include "runtime/peft/method.hpp"

namespace d9d {
namespace {

struct OwnMethod {
  MakePeftMethod make;
  std::string origin;
};

// A job file names them, and so do checkpoints that are exported: the process has one list.
std::map<std::string, OwnMethod>& own_methods() {
  static const auto all = std::make_unique<std::map<std::string, OwnMethod>>();
  return *all;
}

bool is_built_in(const std::string& name) {
  for (const config::Choice& choice : choices_of(config::Tag<PeftConfig>{}).all)
    if (choice.name == name) return true;
  return false;
}

std::string other_names(const std::string& given) {
  std::vector<std::string_view> names;
  static constexpr auto built_in = choices_of(config::Tag<PeftConfig>{}).all;
  for (const config::Choice& choice : built_in) names.push_back(choice.name);
  for (const auto& [name, method] : own_methods()) names.push_back(name);
  return config::suggestion(given, names);
}

// Says whose method it is that throws. Errors of d9d keep their text.
template <class Call>
auto call_method(const std::string& name, const Call& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (...) {
    throw Error(ErrorKind::input,
                fmt::format("the adapter method \"{}\" threw: {}", name, describe_current_exception().what));
  }
}

class NamedMethod final : public PeftMethod {
 public:
  NamedMethod(std::string name, std::unique_ptr<PeftMethod> method)
      : name_(std::move(name)), method_(std::move(method)) {}
  // What a method adds and does not mark would be looked for in folders of weights.
  std::size_t inject(AdaptedModel& model) const override {
    const auto before = model.parameters();
    const std::size_t changed = call_method(name_, [&] { return method_->inject(model); });
    for (const StageParameter& parameter : model.parameters()) {
      const bool is_new = std::ranges::none_of(before, [&](const StageParameter& old) {
        return old.tensor.is_same(parameter.tensor) || (old.name == parameter.name && old.of_adapter);
      });
      D9D_REQUIRE(!is_new || parameter.of_adapter,
                  "the adapter method \"{}\" adds the parameter {} without of_adapter; set it, or list it by "
                  "AdaptedModel::add_adapter()",
                  name_, parameter.name);
    }
    return changed;
  }
  void merge(AdaptedModel& model) const override {
    call_method(name_, [&] { method_->merge(model); });
  }
  bool begins_trainable() const override { return method_->begins_trainable(); }

 private:
  const std::string name_;
  const std::unique_ptr<PeftMethod> method_;
};

}  // namespace

void add_peft_method(const std::string& name, MakePeftMethod make, const std::string& origin) {
  const auto found = own_methods().find(name);
  D9D_REQUIRE(!name.empty() && !is_built_in(name) && found == own_methods().end(),
              "{} registers the adapter method \"{}\", {}; give it another name", origin, name,
              name.empty()                   ? "which has no name"
              : found == own_methods().end() ? "which d9d has already"
                                             : "which " + found->second.origin + " has already");
  own_methods()[name] = {std::move(make), origin};
}

std::unique_ptr<PeftMethod> make_own_peft_method(const std::string& name, const config::Section& config) {
  const auto found = own_methods().find(name);
  D9D_REQUIRE(found != own_methods().end(),
              "no method is called \"{}\"; {} One of your own comes from a library named in `plugins`", name,
              other_names(name));
  auto method = call_method(name, [&] { return found->second.make(config); });
  D9D_REQUIRE(method != nullptr, "the factory of the adapter method \"{}\" made none", name);
  return std::make_unique<NamedMethod>(name, std::move(method));
}

}  // namespace d9d
