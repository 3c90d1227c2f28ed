#include "kernels/ops/backend.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

namespace d9d::kernels {
namespace {

using Attention = AttentionBackend;
using Grouped = GroupedBackend;

constexpr std::array<std::pair<const char*, Attention>, 4> attention_words{
    {{"auto", Attention::auto_},
     {"own", Attention::own},
     {"library", Attention::library},
     {"composed", Attention::composed}}};
constexpr std::array<std::pair<const char*, Grouped>, 4> grouped_words{
    {{"auto", Grouped::auto_},
     {"own", Grouped::own},
     {"library", Grouped::library},
     {"expert_by_expert", Grouped::expert_by_expert}}};

template <class Backend>
Backend backend_of(const char* variable, const std::array<std::pair<const char*, Backend>, 4>& words) {
  const char* const given = std::getenv(variable);
  if (given == nullptr || *given == '\0') return Backend::auto_;
  std::string known;
  for (const auto& [word, backend] : words) {
    if (word == std::string(given)) return backend;
    known += std::string(known.empty() ? "" : ", ") + word;
  }
  throw std::invalid_argument(std::string(variable) + " is \"" + given + "\", expected one of " + known);
}

// One choice for the process, because ops know nothing but their tensors.
struct alignas(4) Choice {
  Backends backends;
  bool is_made = false;
};
std::atomic<Choice>& chosen_here() {
  static constinit std::atomic<Choice> chosen{};
  return chosen;
}

}  // namespace

Backends backends_of_environment() {
  return {backend_of("D9D_ATTENTION", attention_words), backend_of("D9D_GROUPED_PRODUCT", grouped_words)};
}

Backends backends() {
  const Choice chosen = chosen_here().load(std::memory_order_relaxed);
  if (chosen.is_made) return chosen.backends;
  const Backends of_environment = backends_of_environment();
  choose_backends(of_environment);
  return of_environment;
}

void choose_backends(const Backends& chosen) {
  chosen_here().store({chosen, true});
}

}  // namespace d9d::kernels
