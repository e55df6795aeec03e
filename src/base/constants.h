// constants.h: the numbers of mathematics that more than one file needs.
#pragma once

#define GP_TWO_PI      6.283185307179586477
#define GP_HALF_LN_2PI 0.91893853320467274178 // of the normal density
