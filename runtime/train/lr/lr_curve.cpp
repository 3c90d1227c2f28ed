#include "runtime/train/lr/lr_curve.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace d9d {
namespace {

constexpr double smallest = 1e-8;  // of an exponential curve: 0 has no logarithm

struct Interpolate {
  double start;
  double end;
  double progress;

  double operator()(const LinearCurve&) const { return start + (end - start) * progress; }
  double operator()(const CosineCurve&) const {
    return end + (start - end) * (1.0 + std::cos(std::numbers::pi * progress)) / 2.0;
  }
  double operator()(const PolyCurve& poly) const {
    return start + (end - start) * std::pow(progress, poly.power);
  }
  double operator()(const ExponentialCurve&) const {
    const double from = std::log(std::max(start, smallest));
    const double to = std::log(std::max(end, smallest));
    return std::exp(from + (to - from) * progress);
  }
};

}  // namespace

double interpolate(const LrCurve& curve, double start, double end, double progress) {
  return std::visit(Interpolate{start, end, progress}, curve);
}

}  // namespace d9d
