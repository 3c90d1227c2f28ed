#pragma once
// The norm of the whole gradient that is reported and used to clip. It is joined from shares, because each
// rank knows only a part of the gradient. No torch in this header.

#include <cmath>

namespace d9d {

// l2: the root of the sum of squares. inf: the largest absolute value.
enum class NormType { l2, inf };

// Joins the shares of two parts of a gradient. A share is the sum of squares (l2) or the largest absolute
// value (inf). With inf a NaN in the gradient has the share infinity, because a maximum loses NaN.
inline double joined_shares(NormType type, double share, double other) {
  return type == NormType::l2 ? share + other : std::fmax(share, other);
}

// The norm of a gradient with this share.
inline double norm_of_share(NormType type, double share) {
  return type == NormType::l2 ? std::sqrt(share) : share;
}

}  // namespace d9d
