#include "runtime/nn/block/parameter_maker.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

namespace d9d {

ParameterMaker::ParameterMaker(at::ScalarType dtype, at::Device device, float stddev)
    : dtype_(dtype), device_(device), stddev_(stddev) {}

at::Tensor ParameterMaker::make(torch::nn::Module& owner, const std::string& name, at::IntArrayRef shape,
                                Initial initial) {
  at::Tensor tensor =
      owner.register_parameter(name, at::empty(shape, at::TensorOptions(dtype_).device(device_)));
  parameters_.push_back({scope_ + name, tensor, Layout::local(shape.vec()), initial});
  return tensor;
}

at::Tensor ParameterMaker::normal(torch::nn::Module& owner, const std::string& name, at::IntArrayRef shape) {
  return make(owner, name, shape, {Initial::Kind::normal, stddev_});
}

at::Tensor ParameterMaker::constant(torch::nn::Module& owner, const std::string& name, at::IntArrayRef shape,
                                    float value) {
  return make(owner, name, shape, {Initial::Kind::constant, value});
}

at::Tensor ParameterMaker::vectors(torch::nn::Module& owner, const std::string& name, at::IntArrayRef shape) {
  at::Tensor tensor = constant(owner, name, shape, 0.0F);
  parameters_.back().role = ParameterRole::vectors;
  return tensor;
}

at::Tensor ParameterMaker::buffer(torch::nn::Module& owner, const std::string& name, at::IntArrayRef shape) {
  at::Tensor tensor =
      owner.register_buffer(name, at::zeros(shape, at::TensorOptions(at::kFloat).device(device_)));
  buffers_.push_back({scope_ + name, tensor});
  return tensor;
}

at::Tensor ParameterMaker::log_uniform(torch::nn::Module& owner, const std::string& name,
                                       at::IntArrayRef shape, float below_max) {
  return make(owner, name, shape, {Initial::Kind::log_uniform, below_max});
}

}  // namespace d9d
