#pragma once
// Methods of fine-tuning that plugins have added: `model_provider.peft: {kind: NAME, ...}`. No torch.

#include <functional>
#include <memory>
#include <string>

#include "runtime/base/config/section.hpp"

namespace d9d {

class PeftMethod;

// `config`: the keys beside `kind`. Called several times, also for a check of the job file.
using MakePeftMethod = std::function<std::unique_ptr<PeftMethod>(const config::Section& config)>;

// Adds a method for the life of the process, on the main thread, before the job file is decoded. `origin` says who
// brings it. Input error for a name that is taken.
void add_peft_method(const std::string& name, MakePeftMethod make, const std::string& origin);
// Makes the method of that name. Input error that lists all names when there is none; what the plugin throws is an
// error with the method's name.
std::unique_ptr<PeftMethod> make_own_peft_method(const std::string& name, const config::Section& config);

}  // namespace d9d
