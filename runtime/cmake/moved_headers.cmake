# Headers that plugins include and that stood elsewhere until 2026-11: the old path includes the new one, so that a plugin
# needs no change. To go with the next release.
set(moved_headers
  kernels/attention.hpp kernels/attention/attention.hpp
  kernels/node.hpp kernels/graph/node.hpp
  kernels/rope.hpp kernels/attention/rope.hpp
  kernels/weight_work.hpp kernels/graph/weight_work.hpp
  runtime/base/config/described_keys.hpp runtime/base/config/codec_struct.hpp
  runtime/comm/pending.hpp runtime/comm/communicator.hpp
  runtime/comm/shard_map.hpp runtime/comm/communicator.hpp
  runtime/data/npy.hpp runtime/data/file/npy.hpp
  runtime/data/source/rollout_source.hpp runtime/data/source/stream_source.hpp
  runtime/data/tokenizer.hpp runtime/tokenizer/tokenizer.hpp
  runtime/device/kernel_run.hpp runtime/device/device.hpp
  runtime/metric/tracker.hpp runtime/metric/sink/tracker.hpp
  runtime/nn/block/attention.hpp runtime/nn/attention/attention.hpp
  runtime/nn/block/expert_block.hpp runtime/nn/block/feed_forward.hpp
  runtime/nn/block/gated_delta_net.hpp runtime/nn/attention/gated_delta_net.hpp
  runtime/nn/block/grouped_query_attention.hpp runtime/nn/attention/grouped_query_attention.hpp
  runtime/nn/block/latent_attention.hpp runtime/nn/attention/latent_attention.hpp
  runtime/nn/block/rotary.hpp runtime/nn/attention/rotary.hpp
  runtime/nn/model/layer_distribution.hpp runtime/nn/size/layer_distribution.hpp
  runtime/nn/model/model_description.hpp runtime/nn/size/model_description.hpp
  runtime/provider/folder_mapper.hpp runtime/provider/conversion_mapper.hpp
  runtime/plugin/piece_makers.hpp runtime/plugin/registry.hpp
  runtime/state/checkpoint_reader.hpp runtime/state/checkpoint/checkpoint_reader.hpp
  runtime/state/disk.hpp runtime/state/disk/disk.hpp
  runtime/state/model_files.hpp runtime/state/model/model_files.hpp
  runtime/state/safetensors.hpp runtime/state/tensor_file/safetensors.hpp
  runtime/task/model_provider.hpp runtime/provider/model_provider.hpp
  runtime/task/own_data.hpp runtime/plugin/own_data.hpp
  runtime/task/own_model.hpp runtime/plugin/own_model.hpp
  runtime/task/own_piece.hpp runtime/plugin/own_piece.hpp
  runtime/task/own_pieces.hpp runtime/plugin/own_pieces.hpp
  runtime/task/own_task.hpp runtime/plugin/own_task.hpp
  runtime/task/own_tracker.hpp runtime/plugin/own_tracker.hpp
  runtime/task/own_training.hpp runtime/plugin/own_training.hpp
  runtime/task/registry.hpp runtime/plugin/registry.hpp
  runtime/task/result_sink.hpp runtime/task/result/result_sink.hpp
  runtime/task/text_request.hpp runtime/text/text_request.hpp
  runtime/train/elementwise_optimizer.hpp runtime/train/optimizer/elementwise_optimizer.hpp
  runtime/train/flat_optimizer.hpp runtime/train/optimizer/flat_optimizer.hpp
  runtime/train/gradient_hook.hpp runtime/train/gradient/gradient_hook.hpp
  runtime/train/lr/short_forms.hpp runtime/train/lr/warmup_schedules.hpp
  runtime/train/lr_schedule.hpp runtime/train/lr/lr_schedule.hpp
  runtime/train/optimizer/adamw_8bit_options.hpp runtime/train/optimizer/optimizer_options.hpp
  runtime/train/optimizer/muon_options.hpp runtime/train/optimizer/optimizer_options.hpp
  runtime/train/optimizer_provider.hpp runtime/train/optimizer/optimizer_provider.hpp)
file(REMOVE_RECURSE ${CMAKE_BINARY_DIR}/moved)  # those of another commit
while(moved_headers)
  list(POP_FRONT moved_headers old new)
  file(WRITE ${CMAKE_BINARY_DIR}/moved/${old} "#pragma once\n// Stands in ${new} now.\n#include \"${new}\"\n")
endwhile()
install(DIRECTORY ${CMAKE_BINARY_DIR}/moved/ DESTINATION include/d9d)
