#include "runtime/provider/load_from_folder.hpp"

#include <chrono>
#include <map>

#include "runtime/base/log.hpp"

namespace d9d {
namespace {

// A rank that reads for long says how far it is.
class LoadNews {
 public:
  explicit LoadNews(std::string folder) : folder_(std::move(folder)) {}
  void operator()(std::size_t done, std::size_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + between_news;
    log::info("loading {}: {} of {} tensors", folder_, done, total);
  }

 private:
  static constexpr std::chrono::seconds between_news{10};
  const std::string folder_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + between_news;
};

}  // namespace

StageParameter as_parameter(const StageBuffer& buffer) {
  return {buffer.name, buffer.tensor, buffer.layout.value_or(Layout::local(buffer.tensor.sizes().vec())), {}};
}

void load_from_folder(const Disk& disk, const std::string& directory, const MapperPtr& mapper,
                      const std::vector<StageParameter>& parameters, LoadOptions options) {
  std::map<std::string, Destination> destinations;
  for (const StageParameter& parameter : parameters) {
    destinations[parameter.name] = {parameter.tensor.detach(), parameter.layout.global_shape(),
                                    parameter.layout.local_slice()};
  }
  options.progress = LoadNews(directory);
  const LoadReport report = load_model_state(disk, directory, mapper, destinations, options);
  const std::string not_finite = not_finite_text(disk, directory, report.not_finite);
  if (!not_finite.empty()) log::warn("{}", not_finite);
}

}  // namespace d9d
