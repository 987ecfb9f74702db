#include "cuda/address_cache.h"

namespace gpuos::cu {

bool AddressCache::ask(std::uint64_t address) const {
  const auto pass = gate_.pass();
  const ContextScope scope(context_);
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  std::uint32_t is_managed = 0;
  int ordinal = -1;
  std::array attributes{CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                        CU_POINTER_ATTRIBUTE_IS_MANAGED,
                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  std::array<void*, attributes.size()> values{&type, &is_managed, &ordinal};
  const CUresult status = driver().cuPointerGetAttributes(
      attributes.size(), attributes.data(), values.data(), address);
  return status == CUDA_SUCCESS && type == CU_MEMORYTYPE_DEVICE &&
         is_managed == 0 && ordinal == context_.ordinal();
}

}  // namespace gpuos::cu
