#include "runtime/train/optimizer/parted_optimizer.hpp"

#include <algorithm>
#include <utility>

namespace d9d {
namespace {

class PartedOptimizer final : public Optimizer {
 public:
  PartedOptimizer(std::vector<FlatParameters> parts, const MakeOptimizer& make) : parts_(std::move(parts)) {
    for (const FlatParameters& part : parts_) optimizers_.push_back(make(part));
  }

  void step(const UpdateScale& scale) override {
    ++step_count_;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (families_of(i).front().moves_in(scale.update)) optimizers_[i]->step(scale);
  }
  void resume(std::int64_t steps, const std::vector<std::uint64_t>& skipped) override {
    Optimizer::resume(steps, skipped);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      std::vector<std::uint64_t> of_part;
      for (const int update : families_of(i).front().moved_in)
        of_part.push_back(skipped.at(static_cast<std::size_t>(update)));
      optimizers_[i]->resume(steps, of_part);
    }
  }
  std::vector<StateEntry> state_entries() const override {
    std::vector<StateEntry> entries;
    for (const auto& optimizer : optimizers_)
      for (StateEntry& entry : optimizer->state_entries()) entries.push_back(std::move(entry));
    return entries;
  }

 private:
  const std::vector<FlatFamily>& families_of(std::size_t part) const { return parts_[part].families(); }

  const std::vector<FlatParameters> parts_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
};

}  // namespace

std::unique_ptr<Optimizer> make_parted_optimizer(const FlatParameters& parameters, std::size_t updates,
                                                 const MakeOptimizer& make) {
  const auto is_moved_in_all = [&](const FlatFamily& family) { return family.moved_in.size() == updates; };
  const auto& families = parameters.families();
  if (std::all_of(families.begin(), families.end(), is_moved_in_all)) return make(parameters);
  std::vector<FlatParameters> parts = parameters.parts();
  return std::make_unique<PartedOptimizer>(std::move(parts), make);
}

}  // namespace d9d
