#pragma once
// The seven degrees of parallelism of a job (config section `mesh`). Pure integers.

namespace d9d {

// Every degree is at least 1. The product of all but `expert_parallel` is the number of ranks. Experts are
// spread over the same ranks: `expert_parallel` must divide the number of ranks of a stage.
struct DeviceMeshParameters {
  int pipeline_parallel = 1;
  int data_parallel_replicate = 1;
  int data_parallel_shard = 1;
  int context_parallel_replicate = 1;
  int context_parallel_shard = 1;
  int tensor_parallel = 1;
  int expert_parallel = 1;

  bool operator==(const DeviceMeshParameters&) const = default;

  bool has_pipeline_parallel() const { return pipeline_parallel > 1; }
  bool has_data_parallel_replicate() const { return data_parallel_replicate > 1; }
  bool has_data_parallel_shard() const { return data_parallel_shard > 1; }
  bool has_context_parallel_replicate() const { return context_parallel_replicate > 1; }
  bool has_context_parallel_shard() const { return context_parallel_shard > 1; }
  bool has_tensor_parallel() const { return tensor_parallel > 1; }
  bool has_expert_parallel() const { return expert_parallel > 1; }
  bool is_distributed() const;

  // The number of ranks that the mesh needs.
  int world_size() const;
  // The number of ranks of one pipeline stage.
  int stage_size() const { return world_size() / pipeline_parallel; }
  // The number of data ranks. Each of them sees other samples.
  int data_parallel() const { return data_parallel_replicate * data_parallel_shard; }
  int context_parallel() const { return context_parallel_replicate * context_parallel_shard; }

  // Throws an input error that names the key at fault and a value to set instead.
  void validate() const;
  // Does the same, and also compares the mesh with the number of ranks of the job.
  void validate(int num_ranks) const;
};

}  // namespace d9d
