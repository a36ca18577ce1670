/** Any JSON value, frozen by type. Integers beyond 2^53 never reach it: the border refuses or keeps them as text. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
