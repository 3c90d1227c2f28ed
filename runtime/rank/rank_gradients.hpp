#pragma once
// What the RankExecutor and the Collectives of a rank share: the gradient buckets. The
// RankExecutor makes them before it says Ready. Between ReduceBucket and BucketReduced
// a bucket belongs to the Collective, at all other times to the RankExecutor.

#include <memory>

namespace d9d {

class FlatParameters;

struct RankGradients {
  std::shared_ptr<const FlatParameters> parameters;
};

}  // namespace d9d
