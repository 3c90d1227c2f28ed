#include "runtime/task/result/result_sink.hpp"

#include "runtime/task/result/result_lines.hpp"
#include "runtime/task/result/result_tensors.hpp"

namespace d9d {

std::shared_ptr<ResultSink> make_results(const InferencePlace& place, ResultFormat format) {
  if (format == ResultFormat::safetensors)
    return std::make_shared<ResultTensors>(place.results, place.rank, ResultTensors::usual_bytes,
                                           place.source);
  return std::make_shared<ResultLines>(place.results, place.rank, place.source);
}

}  // namespace d9d
