#pragma once
// The keys that the models of all families have: Hugging Face's (those of config.json, as transformers 4 and 5
// write them, so that one can be pasted into a job file) and the original's that stand beside them (reference
// A.7).

#include <functional>
#include <string>
#include <vector>

#include "runtime/family/dense_decoder.hpp"
#include "runtime/family/layer_windows.hpp"
#include "runtime/family/model_key.hpp"

namespace d9d {

// `type` is the model_type, `architecture` the only one of `architectures` that is not refused. Biases and windows
// have rows of the job file alone: a family that has them says how they are read and written.
ModelKeys decoder_keys(const std::string& type, const std::string& architecture);
// rope_interleave, for both ropes of a model; to be read after them.
void read_pairs(const JsonReader& in, bool absent, FamilyModel& model);
// Refuses is_causal false.
void only_causal(ModelKeys& keys);
// Refuse what a model does not compute. `reason` ends the text: "but this family has no biases; remove the key".
void never_true(ModelKey& key, const std::string& reason);
void never_given(ModelKey& key, const std::string& reason);
// A key of config.json for a dropout, of which 0 alone is computed. `name` is a literal.
ModelKey no_dropout(const char* name);
// Another text than the first of `names`, or another name of it; writes that one.
void only_activation(ModelKey& key, const std::vector<std::string>& names);

// Windows, in the row sliding_window (layer_windows.hpp). `absent` is their width where the key is not given.
void set_windows(ModelKeys& keys, std::function<LayerWindows(const JsonReader&, const FamilyModel&)> read,
                 std::function<void(const FamilyModel&, nlohmann::json&)> write);
void set_one_window(ModelKeys& keys, std::int64_t absent);
// `slides(layer, max_window_layers)` where layer_types does not say it.
void set_layer_windows(ModelKeys& keys, std::function<bool(std::int64_t, std::int64_t)> slides);

}  // namespace d9d
