import type { Engines } from '../../wire.ts'

/** The distributions that data may be imported for. */
export const named = (now: Engines): readonly { readonly codename: string; readonly label: string }[] =>
  (now.engines.find(one => one.distributions.length > 0)?.distributions ?? []).map(({ distribution, label }) => ({
    codename: distribution,
    label,
  }))
