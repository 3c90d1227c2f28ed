#include "runtime/state/convert/model_converter.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/state/convert/box_cursor.hpp"
#include "runtime/state/convert/box_filler.hpp"
#include "runtime/state/convert/conversion_queue.hpp"
#include "runtime/state/model/model_files.hpp"
#include "runtime/state/model/model_shards.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

constexpr std::uint64_t box_bytes_min = 8;  // one value

class ConversionRun {
 public:
  ConversionRun(const TensorSource& source, const StateMapper& mapper, const ConversionOptions& options)
      : source_(source),
        mapper_(mapper),
        options_(options),
        box_bytes_(std::max(options.box_bytes, box_bytes_min)) {}

  std::vector<WrittenShard> run(const std::vector<const StateGroup*>& groups, Disk& disk,
                                const std::string& directory) {
    std::vector<ConversionQueue::Item> items;
    std::vector<TensorSpec> specs;
    for (const auto* group : groups) {
      items.push_back({group, outputs_of_group(*group)});
      specs.insert(specs.end(), items.back().outputs.begin(), items.back().outputs.end());
    }
    disk.make_directories(directory);
    ModelShards shards(disk, directory, specs,
                       {.shard_bytes_max = options_.shard_bytes_max, .share = options_.share});
    for (auto& item : items) {
      std::erase_if(item.outputs, [&](const TensorSpec& spec) { return !shards.writes(spec.name); });
      for (const auto& spec : item.outputs) total_ += spec.bytes();
    }
    for (const auto& spec : specs) dtypes_[spec.name] = spec.dtype;
    ConversionQueue queue(source_, mapper_, std::move(items), box_bytes_);
    in_threads(
        options_.threads, [&] { work(queue, shards); }, [&] { queue.cancel(); });
    return shards.finish();
  }

 private:
  std::vector<TensorSpec> outputs_of_group(const StateGroup& group) const {
    std::vector<TensorSpec> specs;
    for (const auto& [name, tensor] : mapper_.apply(shapes_of(source_, group)))
      specs.push_back({name, dtype_of_output(name, tensor), tensor.sizes().vec()});
    return specs;
  }

  Dtype dtype_of_output(const std::string& name, const at::Tensor& tensor) const {
    if (const auto own = options_.dtypes.find(name); own != options_.dtypes.end()) return own->second;
    const bool converted = options_.dtype && at::isFloatingType(tensor.scalar_type());
    return converted ? *options_.dtype : dtype_of(tensor.scalar_type());
  }

  void work(ConversionQueue& queue, ModelShards& shards) {
    // Otherwise torch would start a team of threads for each of these.
    if (options_.threads > 1) at::set_num_threads(1);
    const BoxFiller filler(source_, mapper_, box_bytes_);
    while (const auto piece = queue.next()) {
      if (piece->is_whole_group()) {
        write_applied(*piece->group, shards);
        continue;
      }
      const std::int64_t first = first_value(piece->box, piece->output.shape);
      const at::Tensor part = filler.fill(*piece, shards.offset_of(piece->output.name, first));
      shards.write_at(piece->output.name, first, part);
      add_done(part.nbytes());
    }
  }

  void write_applied(const StateGroup& group, ModelShards& shards) {
    TensorMap inputs;
    for (const auto& name : group.inputs) inputs[name] = source_.read(name);
    TensorMap outputs = mapper_.apply(inputs);
    inputs.clear();
    while (!outputs.empty()) {
      const auto output = outputs.extract(outputs.begin());
      if (!shards.writes(output.key())) continue;
      shards.write(output.key(), output.mapped());
      add_done(static_cast<std::uint64_t>(output.mapped().numel() * size_of(dtypes_.at(output.key()))));
    }
  }

  void add_done(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    done_ += bytes;
    if (options_.progress) options_.progress(done_, total_);
  }

  const TensorSource& source_;
  const StateMapper& mapper_;
  const ConversionOptions& options_;
  const std::uint64_t box_bytes_;
  std::map<std::string, Dtype> dtypes_;  // of outputs
  std::uint64_t total_ = 0;
  std::mutex mutex_;  // guards done_
  std::uint64_t done_ = 0;
};

}  // namespace

std::vector<WrittenShard> convert_model_state(const TensorSource& source, const StateMapper& mapper,
                                              const std::vector<const StateGroup*>& groups, Disk& disk,
                                              const std::string& directory,
                                              const ConversionOptions& options) {
  return ConversionRun(source, mapper, options).run(groups, disk, directory);
}

std::vector<WrittenShard> convert_model_state(const ModelFiles& files, const MapperPtr& mapper, Disk& disk,
                                              const std::string& directory,
                                              const ConversionOptions& options) {
  return convert_model_state(files, *mapper, files.in_disk_order(*mapper), disk, directory, options);
}

std::vector<const StateGroup*> groups_in_order(const StateMapper& mapper,
                                               const std::vector<std::string>& inputs) {
  std::map<std::string, const StateGroup*> group_of;
  for (const auto& group : mapper.groups())
    for (const auto& name : group.inputs) group_of[name] = &group;
  std::vector<const StateGroup*> groups;
  std::set<const StateGroup*> seen;
  Names unused, missing = inputs_of(mapper);
  for (const auto& name : inputs) {
    missing.erase(name);
    const auto group = group_of.find(name);
    if (group == group_of.end())
      unused.insert(name);
    else if (seen.insert(group->second).second)
      groups.push_back(group->second);
  }
  D9D_REQUIRE(unused.empty(), "{} without a place in the exported model: {}",
              counted(unused.size(), "tensor"), to_text(unused));
  D9D_REQUIRE(missing.empty(), "the mapper needs {}: {}", counted(missing.size(), "more tensor"),
              to_text(missing));
  return groups;
}

void in_threads(int threads, const std::function<void()>& work, const std::function<void()>& cancel) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
      cancel();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(guarded);
    guarded();
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace d9d
