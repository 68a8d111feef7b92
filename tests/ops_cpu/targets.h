#pragma once

#include <gtest/gtest.h>

#include "hwy/targets.h"

namespace plica::cpu {

// Calls fn() once for each vector target that was compiled and that this machine has.
template <class Fn>
void on_every_target(const Fn& fn) {
  for (int64_t targets = hwy::SupportedTargets() & HWY_TARGETS; targets; targets &= targets - 1) {
    const int64_t target = targets & -targets;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    fn();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace plica::cpu
