#pragma once
// The key `export` of a job: which checkpoint the folders written after the last step are made of.

#include <boost/describe/enum.hpp>

#include "runtime/base/config/keys.hpp"

namespace d9d {

enum class ExportChoice { last, best };
BOOST_DESCRIBE_ENUM(ExportChoice, last, best)

constexpr config::Key export_choice_key{
    "export", "",
    "which checkpoint export_to and export_adapter_to are made of; best: of those that are there, that "
    "with the best evaluation, by evaluation.metric (needs `evaluation`, and its keep_best where checkpoints "
    "are removed)"};

}  // namespace d9d
