#include "runtime/provider/moved_run.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/provider/original_names.hpp"
#include "runtime/provider/tokenizer_files.hpp"
#include "runtime/state/checkpoint/checkpoint_commit.hpp"
#include "runtime/state/checkpoint/checkpoint_writer_core.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/convert/rule_mapper.hpp"
#include "runtime/state/disk/checksum.hpp"
#include "runtime/tensor/stage_module.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

// The checkpoint that a folder of the original's is, or the last one in it: that with the largest step.
std::string original_checkpoint_in(const Disk& disk, const std::string& folder) {
  D9D_REQUIRE(disk.exists(folder), "{} is not there; give a checkpoint of the original, such as save-1000",
              folder);
  if (disk.exists(join_path(folder, dcp_metadata_name))) return folder;
  for (const FoundCheckpoint& found : find_checkpoints(disk, folder))
    if (disk.exists(join_path(found.path, dcp_metadata_name))) return found.path;
  throw Error(
      ErrorKind::input,
      fmt::format(
          "{} is no checkpoint of torch.distributed.checkpoint and holds none: there is no {} in it, nor "
          "in a folder save-STEP of it",
          folder, dcp_metadata_name));
}

// The same tensors without storage.
TensorMap shapes_of(const OriginalRun::Tensors& tensors) {
  TensorMap shapes;
  for (const auto& [name, value] : tensors)
    shapes[name] = at::empty(value->tensor->shape,
                             at::TensorOptions(scalar_type_of(value->tensor->dtype)).device(at::kMeta));
  return shapes;
}

TensorMap part_of(const TensorMap& tensors, const Names& names) {
  TensorMap part;
  for (const std::string& name : names) part[name] = tensors.at(name);
  return part;
}

MapperPtr mapper_for(const RunMove& move, const TensorMap& shapes) {
  if (!move.mapper.empty()) return mapper_by_rules(read_conversion_rules(move.mapper), shapes).mapper;
  Names names;
  for (const auto& [name, shape] : shapes) names.insert(name);
  return from_original_names(names);
}

// Input error that names what differs, unless the mapped parameters are those of the model.
void require_parameters(const FamilyModel& model, const StateMapper& mapper, const TensorMap& shapes) {
  std::map<std::string, Shape> given;
  for (const StateGroup& group : mapper.groups())
    for (const auto& [name, shape] : mapper.apply(part_of(shapes, group.inputs)))
      given[name] = shape.sizes().vec();
  Names missing;
  for (const StageParameter& parameter : model.build_shapes()->parameters()) {
    const auto found = given.find(parameter.name);
    if (found == given.end()) {
      missing.insert(parameter.name);
      continue;
    }
    D9D_REQUIRE(at::IntArrayRef(found->second) == parameter.tensor.sizes(),
                "{} has the shape {} in the checkpoint and {} in the model of the job: mend model_provider",
                parameter.name, to_text(found->second), to_text(parameter.tensor.sizes().vec()));
    given.erase(found);
  }
  Names strange;
  for (const auto& [name, shape] : given) strange.insert(name);
  D9D_REQUIRE(missing.empty() && strange.empty(),
              "the checkpoint is of another model than the job's: it lacks {}, and has beside it {}. Mend "
              "model_provider, or give the names with --mapper RULES.yaml",
              missing.empty() ? "nothing" : to_text(missing), strange.empty() ? "nothing" : to_text(strange));
}

// Writes tensors into files of about the same size.
class MovedShards {
 public:
  MovedShards(Disk& disk, std::string folder, std::uint64_t bytes_max)
      : disk_(disk), folder_(std::move(folder)), bytes_max_(bytes_max) {}

  void add(const std::string& kind, const std::string& name, const at::Tensor& tensor) {
    const Shape shape = tensor.sizes().vec();
    slices_.push_back({kind, name, shape, whole(shape), tensor.contiguous()});
    held_ += tensor.nbytes();
    bytes_ += tensor.nbytes();
    ++count_;
    if (held_ >= bytes_max_) write();
  }
  std::vector<ShardReport> finish() {
    write();
    return std::move(reports_);
  }
  std::size_t count() const { return count_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void write() {
    if (slices_.empty()) return;
    const std::string name = fmt::format("moved-{:05}", reports_.size());
    reports_.push_back(ShardWriter(disk_).write(folder_, name, slices_));
    slices_.clear();
    held_ = 0;
  }

  Disk& disk_;
  const std::string folder_;
  const std::uint64_t bytes_max_;
  std::vector<NamedSlice> slices_;
  std::vector<ShardReport> reports_;
  std::uint64_t held_ = 0, bytes_ = 0;
  std::size_t count_ = 0;
};

class RunMover {
 public:
  RunMover(Disk& disk, const LoadedJob& loaded, const RunMove& move)
      : disk_(disk),
        loaded_(loaded),
        move_(move),
        folder_(disk, original_checkpoint_in(disk, move.from)),
        run_(read_original_run(folder_, move.buffers, move.moments)),
        shapes_(shapes_of(run_.parameters)),
        mapper_(mapper_for(move, shapes_)) {
    const auto* family = std::get_if<FamilyProvider>(&loaded.job.model_provider);
    has_adapters_ = family != nullptr && family->peft.has_value();
    if (loaded.model && !has_adapters_) require_parameters(*loaded.model, *mapper_, shapes_);
    total_ = run_.parameters.size() + run_.buffers.size();
    for (const auto& [kind, tensors] : run_.moments) total_ += tensors.size();
  }

  MovedRun move() {
    const std::string folder = checkpoint_dir(loaded_.job).string();
    D9D_REQUIRE(
        find_checkpoints(disk_, folder).empty(),
        "{} holds checkpoints already, and the job would go on from the newest of them; give the job another "
        "trainer.run.name, or move them away",
        folder);
    const std::string temporary = join_path(folder, temporary_name(run_.step, "moved"));
    disk_.remove_all(temporary);
    disk_.make_directories(temporary);
    MovedShards shards(disk_, temporary, move_.shard_bytes);
    for (const auto& [name, value] : run_.buffers) shards.add(buffer_kind, name, read(*value));
    add_all(shards, parameter_kind, run_.parameters);
    for (const auto& [kind, tensors] : run_.moments) add_all(shards, kind, tensors);
    const Manifest manifest = with_reports(make_manifest(temporary), shards.finish());
    const std::string target = join_path(folder, checkpoint_name(run_.step));
    commit_checkpoint(disk_, temporary, target, manifest);
    return {target, run_.step, manifest.data_cursor, shards.count(), shards.bytes(), notes()};
  }

 private:
  at::Tensor read(const DcpValue& value) {
    if (move_.progress) move_.progress(done_++, total_);
    return folder_.read(value);
  }

  // Maps the tensors of a kind as the parameters are mapped. A parameter that the optimizer never touched has moments
  // of zero.
  void add_all(MovedShards& shards, const std::string& kind, const OriginalRun::Tensors& tensors) {
    for (const StateGroup& group : mapper_->groups()) {
      const bool any = std::any_of(group.inputs.begin(), group.inputs.end(),
                                   [&](const std::string& name) { return tensors.contains(name); });
      if (!any && (has_adapters_ || tensors.empty())) continue;  // a frozen parameter
      TensorMap inputs;
      for (const std::string& name : group.inputs) {
        const auto found = tensors.find(name);
        inputs[name] =
            found != tensors.end() ? read(*found->second) : zeros(kind, name, *tensors.begin()->second);
      }
      for (const auto& [name, tensor] : mapper_->apply(inputs)) shards.add(kind, name, tensor);
    }
  }

  at::Tensor zeros(const std::string& kind, const std::string& name, const DcpValue& like) {
    if (kind != parameter_kind) never_updated_.insert(name);
    return at::zeros(run_.parameters.at(name)->tensor->shape,
                     at::TensorOptions(scalar_type_of(like.tensor->dtype)));
  }

  Manifest make_manifest(const std::string& folder) {
    const JobConfig& job = loaded_.job;
    const auto batch = static_cast<std::uint64_t>(job.trainer.batching.global_batch_size);
    nlohmann::json extra{{"job", nlohmann::json(resolved_keys(job))}, {"ranks", nlohmann::json::object()}};
    if (run_.updates > 0 && run_.updates < run_.step)
      extra["ranks"]["0"] = {{"skipped_steps", run_.step - run_.updates}};
    Manifest manifest{.step = run_.step,
                      .data_cursor = move_.next_sample.value_or(run_.step * batch),
                      .seed = static_cast<std::uint64_t>(job.trainer.determinism.base_seed),
                      .extra = shown_json(extra)};
    const TokenizerFiles tokenizer = tokenizer_files_of(disk_, job, loaded_.model.get());
    write_tokenizer_files(disk_, folder, tokenizer);
    for (const auto& [name, contents] : tokenizer)
      manifest.files.push_back({name, contents.size(), checksum_of(contents)});
    return manifest;
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    if (!never_updated_.empty())
      notes.push_back(fmt::format("{} never updated by its optimizer, so that moments begin at zero: {}",
                                  counted(never_updated_.size(), "parameter"), to_text(never_updated_)));
    if (!run_.updated_less.empty())
      notes.push_back(
          fmt::format("{} left out of some updates; their moments go on as if they had made all {}: {}",
                      counted(run_.updated_less.size(), "parameter"), run_.updates,
                      to_text(Names(run_.updated_less.begin(), run_.updated_less.end()))));
    if (run_.moments.empty())
      notes.emplace_back(
          "no moments: `d9d-node export` makes a model's folder of it, from which a job can begin");
    return notes;
  }

  Disk& disk_;
  const LoadedJob& loaded_;
  const RunMove& move_;
  const DcpFolder folder_;
  const OriginalRun run_;
  const TensorMap shapes_;  // of the parameters
  const MapperPtr mapper_;
  bool has_adapters_ = false;
  Names never_updated_;
  std::uint64_t done_ = 0, total_ = 0;
};

}  // namespace

MovedRun move_run(Disk& disk, const LoadedJob& loaded, const RunMove& move) {
  D9D_REQUIRE(!loaded.job.inference,
              "the job infers; give a job that trains, which the checkpoint can go on with");
  return RunMover(disk, loaded, move).move();
}

}  // namespace d9d
