#pragma once
// What a Coordinator knows about its job, and the functions with which it works on the disk.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "actors/notes/pending_saves.hpp"

namespace d9d {

struct ResumePoint {
  std::string directory;  // committed checkpoint, empty = a fresh start
  std::uint64_t step = 0;
  std::string state;              // JSON: the part of the checkpoint that is not tensors
  std::uint64_t next_sample = 0;  // data cursor in global samples
  std::uint64_t entries = 0;      // tensors in it; the job must read all of them
  std::string differences{};      // between its job and this one, as text; empty = none
  std::string warning{};          // what the differences mean; logged when all tensors were read
};

struct CoordinatorOptions {
  int world_size = 1;
  std::string build, job_hash;
  std::string tag;     // random per job start: part of the names of files being written
  std::string secret;  // random per job start: only members know it
  std::chrono::milliseconds join_timeout{600'000};
  std::function<ResumePoint()> find_resume_point;
  std::function<std::string(const CheckpointParts&)> commit;  // returns the directory
  // Merges a JSON patch (RFC 7396) into what rank 0 keeps in the committed checkpoint of a step.
  std::function<void(std::uint64_t, const std::string& patch)> amend;
  std::function<void(std::uint64_t)> discard;  // the checkpoint after this step
  std::function<void()> make_room;             // called when the disk is full; unset: nothing may be removed
  std::string export_to;                       // empty = no export
  std::function<std::string(const std::string& last)>
      choose_export;  // returns the checkpoint to export; unset: the last one
  std::chrono::milliseconds export_timeout{3'600'000};
  // Makes the folder that all nodes fill. Unset: node 0 exports alone. The folder is
  // then published or removed.
  std::function<std::string()> begin_export;
  std::function<void()> publish_export, discard_export;
  std::function<void(std::uint64_t step)> on_training;  // training begins after this step
  // Called at the end of a job that had begun to train. `signal`: the one that stopped it, or 0.
  std::function<void(bool failed, int signal, const std::string& reason)> on_end;
  std::string events = "train";  // or "inference": the prefix of the names of events
  std::size_t own_actors = 0;    // how many the job file has; on node 0
  bool trace = false;            // write a trace file at the end
  std::string job_keys;          // the JSON that job_hash is the hash of
  std::string inputs;            // see node_inputs(); of node 0
};

}  // namespace d9d
