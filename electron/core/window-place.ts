import { Type, type Static } from '@sinclair/typebox'

const Whole = Type.Integer({ minimum: -100_000, maximum: 100_000 })
/** Where the window was, and what it showed. */
export const WindowPlaceSchema = Type.Object({
  x: Type.Union([Whole, Type.Null()]),
  y: Type.Union([Whole, Type.Null()]),
  width: Whole,
  height: Whole,
  isMaximised: Type.Boolean(),
  /** The appliance that was shown; null for the list. */
  appliance: Type.Union([Type.String({ pattern: '^a[0-9a-f]{12}$' }), Type.Null()]),
})
export type WindowPlace = Static<typeof WindowPlaceSchema>
export const FIRST_PLACE: WindowPlace = {
  x: null,
  y: null,
  width: 1280,
  height: 860,
  isMaximised: false,
  appliance: null,
}

interface Area {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}
const LEAST = { width: 480, height: 480 }

/** Bounds for a window so that its bar can be reached: a screen that was there may be gone. */
export function fitToScreens(
  { x, y, width, height }: WindowPlace,
  screens: readonly Area[],
): { x?: number; y?: number; width: number; height: number } {
  const size = { width: Math.max(width, LEAST.width), height: Math.max(height, LEAST.height) }
  if (x === null || y === null) return size
  const isReachable = screens.some(
    area =>
      x + size.width > area.x + 80 && x < area.x + area.width - 80 && y >= area.y - 10 && y < area.y + area.height - 40,
  )
  return isReachable ? { ...size, x, y } : size
}
