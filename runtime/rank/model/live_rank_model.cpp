#include "runtime/rank/model/live_rank_model.hpp"

#include <set>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/provider/export_checkpoint.hpp"
#include "runtime/state/checkpoint/checkpoint_commit.hpp"
#include "runtime/state/checkpoint/checkpoint_writer_core.hpp"
#include "runtime/state/mapper/distribute.hpp"

namespace d9d {
namespace {

class LiveRankModel final : public LiveModel {
 public:
  LiveRankModel(RankModel& model, const ModelOptions& options, const StateOptions& state,
                const OpenGroup& open, RankGroup world)
      : model_(model), options_(options), state_(state), world_(std::move(world)) {
    std::set<std::string> split;
    for (const StageParameter& parameter : all())
      for (const LayoutAxis& axis : parameter.layout.axes())
        if (axis.placement.is_shard() && axis.size > 1) split.insert(axis.name);
    for (const std::string& axis : split) opened_[axis] = open(domain_of_axes({axis}), {axis}, "live model");
    for (const auto& [axis, communicator] : opened_) by_axis_[axis] = communicator.get();
  }

  std::vector<std::string> parameters() const override {
    std::vector<std::string> names;
    for (const StageParameter& parameter : all()) names.push_back(parameter.name);
    return names;
  }
  at::Tensor full_tensor(const std::string& parameter) const override;
  void save(const std::string& folder) const override;

 private:
  const std::vector<StageParameter>& all() const { return model_.flat()->parameters(); }
  std::vector<NamedSlice> own_slices() const;
  std::vector<ShardReport> write_parts(const std::string& folder) const;
  // The others wait, and throw what it throws.
  void on_first(const std::function<void()>& work) const {
    world_.first_then_others([&] {
      if (world_.is_first()) work();
    });
  }

  RankModel& model_;
  const ModelOptions& options_;
  const StateOptions& state_;
  const RankGroup world_;
  std::map<std::string, std::shared_ptr<Communicator>> opened_;
  AxisCommunicators by_axis_;
};

at::Tensor LiveRankModel::full_tensor(const std::string& parameter) const {
  const auto found = std::find_if(all().begin(), all().end(),
                                  [&](const StageParameter& each) { return each.name == parameter; });
  D9D_REQUIRE(found != all().end(), "the pipeline stages of this rank have no parameter \"{}\"", parameter);
  return gather_full_tensor(parameter, found->layout, by_axis_)
      ->apply({{parameter, found->tensor.detach()}})
      .at(parameter);
}

// Of the copies of a tensor one rank writes its own.
std::vector<NamedSlice> LiveRankModel::own_slices() const {
  std::vector<NamedSlice> slices;
  const auto add = [&](const char* kind, const std::string& name, const Layout& layout,
                       const at::Tensor& tensor) {
    if (layout.is_writer() && tensor.numel() > 0)
      slices.push_back({kind, name, layout.global_shape(), layout.local_slice(), tensor.detach()});
  };
  for (const StageParameter& each : all()) add(parameter_kind, each.name, each.layout, each.tensor);
  for (const StageBuffer& each : model_.buffers().all())
    add(buffer_kind, each.name, each.layout.value(), each.tensor);
  return slices;
}

std::vector<ShardReport> LiveRankModel::write_parts(const std::string& folder) const {
  nlohmann::json mine;
  try {
    const std::vector<NamedSlice> slices = own_slices();
    const std::string name = fmt::format("rank-{:05}", world_.rank());
    if (!slices.empty()) mine["report"] = to_json(ShardWriter(*state_.disk).write(folder, name, slices));
  } catch (const Error& error) {
    mine["failure"] = error.what();
  }
  std::vector<ShardReport> reports;
  for (const nlohmann::json& written : world_.all_gather_object(mine)) {
    if (written.contains("failure"))
      throw Error(ErrorKind::environment, written.at("failure").get<std::string>());
    if (written.contains("report")) reports.push_back(shard_report_from_json(written.at("report")));
  }
  return reports;
}

void LiveRankModel::save(const std::string& folder) const {
  Disk& disk = *state_.disk;
  const std::string parts = folder + ".weights.tmp", weights = folder + ".weights";
  on_first([&] { disk.remove_all(parts); });
  const std::vector<ShardReport> reports = write_parts(parts);
  on_first([&] {
    Manifest manifest;
    disk.make_directories(parts);
    manifest.files = write_tokenizer_files(disk, parts, state_.tokenizer);
    commit_checkpoint(disk, parts, weights, with_reports(std::move(manifest), reports));
    export_checkpoint(disk, *options_.provider, weights, folder);
    disk.remove_all(weights);
  });
}

}  // namespace

std::shared_ptr<LiveModel> make_live_model(RankModel& model, const ModelOptions& options,
                                           const StateOptions& state, const OpenGroup& open,
                                           RankGroup world) {
  return std::make_shared<LiveRankModel>(model, options, state, open, std::move(world));
}

}  // namespace d9d
