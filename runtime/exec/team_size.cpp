#include "runtime/exec/team_size.h"

#include <omp.h>

namespace plica {

TeamSize::TeamSize(int num_threads) : before_(omp_get_max_threads()) { omp_set_num_threads(num_threads); }

TeamSize::~TeamSize() { omp_set_num_threads(before_); }

}  // namespace plica
