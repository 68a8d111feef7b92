#pragma once

namespace plica {

// What this machine reaches at best with this many threads, measured in a fraction of a second.
struct MachineLimit {
  double flops_per_s = 0;  // multiply-adds of f32 in registers, two operations each
  double bytes_per_s = 0;  // reading and writing memory far larger than the caches
};

MachineLimit measure_machine(int num_threads);

}  // namespace plica
