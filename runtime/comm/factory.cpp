#include "runtime/comm/factory.hpp"

#include "runtime/base/error.hpp"
#include "runtime/comm/checked.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/single.hpp"

namespace d9d {

CommunicatorFactory::CommunicatorFactory(const Plan& plan, SharedMemoryHub& hub, GlooTransport* gloo,
                                         CommunicatorOptions options)
    : plan_(plan), hub_(hub), gloo_(gloo), options_(options) {}

std::unique_ptr<Communicator> CommunicatorFactory::open(int rank, const std::string& domain,
                                                        const std::vector<std::string>& axes,
                                                        const std::string& use) const {
  Group group = plan_.group(rank, domain, axes);
  group.name = fmt::format("{}/{}@{}", group.name, use, options_.epoch);
  if (group.size() == 1) return std::make_unique<SingleCommunicator>(group.name);
  if (group.one_node) return hub_.open(group, options_.timeout);
  D9D_CHECK(gloo_ != nullptr, "group {} spans nodes and there is no transport between them", group.name);
  std::unique_ptr<Communicator> communicator = gloo_->open(group, options_.timeout);
  return options_.check_collectives ? make_checked(std::move(communicator)) : std::move(communicator);
}

}  // namespace d9d
