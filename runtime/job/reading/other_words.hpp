#pragma once
// The words of other frameworks (transformers' Trainer, axolotl, Megatron-LM, nanoGPT, torchtitan) for a job's keys.

#include <span>
#include <string>
#include <string_view>

#include "runtime/base/config/other_words.hpp"
#include "runtime/base/config/problems.hpp"

namespace d9d {

std::span<const config::OtherWords> other_words();

// "here: trainer.schedule.total_steps"; empty for a word that is none of them.
std::string answer_to(std::string_view word);

// The same problems. An unknown key that is such a word gets its answer for a remedy.
config::Problems with_answers(const config::Problems& problems);

}  // namespace d9d
