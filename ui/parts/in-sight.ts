/** Moves what scrolls so far that this can be seen, when it is the one `chosen`. */
export const inSight =
  (chosen: boolean) =>
  (element: HTMLElement): void => {
    if (chosen) element.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }
