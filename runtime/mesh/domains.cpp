#include "runtime/mesh/domains.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

Mesh regular(const DeviceMeshParameters& p) {
  return {{"pp", "dp_replicate", "dp_shard", "cp_shard", "cp_replicate", "tp"},
          {p.pipeline_parallel, p.data_parallel_replicate, p.data_parallel_shard, p.context_parallel_shard,
           p.context_parallel_replicate, p.tensor_parallel}};
}

Mesh dense(const DeviceMeshParameters& p) {
  return {{"pp", "dp_replicate", "dp_cp_shard", "cp_replicate", "tp"},
          {p.pipeline_parallel, p.data_parallel_replicate, p.data_parallel_shard * p.context_parallel_shard,
           p.context_parallel_replicate, p.tensor_parallel}};
}

Mesh expert(const DeviceMeshParameters& p) {
  return {{"pp", "ep_replicate", "ep_shard"},
          {p.pipeline_parallel, p.stage_size() / p.expert_parallel, p.expert_parallel}};
}

Mesh batch(const DeviceMeshParameters& p) {
  return {{"pp", "dp", "cp", "tp"},
          {p.pipeline_parallel, p.data_parallel(), p.context_parallel(), p.tensor_parallel}};
}

Mesh flat(const DeviceMeshParameters& p) {
  return {{"world"}, {p.world_size()}};
}

}  // namespace

std::vector<Domain> standard_domains() {
  return {{regular_domain, regular},
          {dense_domain, dense},
          {expert_domain, expert},
          {batch_domain, batch},
          {flat_domain, flat}};
}

MeshDomains::MeshDomains(const DeviceMeshParameters& parameters, const std::vector<Domain>& domains)
    : parameters_(parameters) {
  parameters_.validate();
  for (const Domain& domain : domains) {
    Entry entry{domain.name, domain.build(parameters_)};
    D9D_CHECK(entry.mesh.size() == world_size(), "domain {} has {} ranks of {}", entry.name,
              entry.mesh.size(), world_size());
    entries_.push_back(std::move(entry));
  }
}

const Mesh& MeshDomains::mesh_for(const std::string& domain) const {
  std::string known;
  for (const Entry& entry : entries_) {
    if (entry.name == domain) return entry.mesh;
    known += (known.empty() ? "" : ", ") + entry.name;
  }
  throw Error(ErrorKind::input, fmt::format("no mesh domain \"{}\"; there are {}", domain, known));
}

std::string domain_with(const std::vector<std::string>& axes, const MeshDomains& domains) {
  if (axes == std::vector<std::string>{host_domain}) return host_domain;
  std::string known;
  for (const Domain& domain : standard_domains()) {
    const std::vector<std::string>& names = domains.mesh_for(domain.name).axis_names();
    const bool has_all = std::all_of(axes.begin(), axes.end(), [&](const std::string& axis) {
      return std::find(names.begin(), names.end(), axis) != names.end();
    });
    if (has_all && !axes.empty()) return domain.name;
    known += fmt::format("{}{}: {}", known.empty() ? "" : "; ", domain.name, fmt::join(names, " "));
  }
  throw Error(ErrorKind::input, fmt::format("no domain of the mesh has the axes {}; there are {}; host",
                                            fmt::join(axes, ", "), known));
}

}  // namespace d9d
