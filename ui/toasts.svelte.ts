export interface Toast {
  readonly id: number
  readonly tone: 'good' | 'bad' | 'info'
  readonly title: string
  readonly text: string
  /** Where it leads. */
  readonly link?: ToastLink | undefined
}

export interface ToastLink {
  readonly word: string
  readonly href: string
}

const STAYS_MS = 6000
let toasts = $state.raw<readonly Toast[]>([])
let next = 1

export function currentToasts(): readonly Toast[] {
  return toasts
}

export function dismiss(id: number): void {
  toasts = toasts.filter(toast => toast.id !== id)
}

/** Says something that needs no answer. Failures stay until they are closed. */
export function toast(tone: Toast['tone'], title: string, text = '', link?: ToastLink): void {
  const id = next++
  toasts = [...toasts.slice(-3), { id, tone, title, text, link }]
  if (tone !== 'bad') setTimeout(() => dismiss(id), STAYS_MS)
}
