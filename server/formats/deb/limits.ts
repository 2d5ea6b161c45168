/** The budgets of `Format.inspect`. */
export const CONTROL_BYTES = 32 * 2 ** 20
export const DATA_BYTES = 8 * 2 ** 30
