"""Charts as SVG, for scripts that draw what they measured."""

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 760, 260, 80, 40, 46


def short(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


class Chart:
    """An SVG with axes from 0 on, to which bars, lines and marks are added. `n`: the places on the x axis."""

    def __init__(self, title, x_label, y_label, n, top, labels=str):
        self.n, self.top = n, top or 1
        self.parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
                      f'<text x="{LEFT}" y="18" font-size="14">{title}</text>',
                      f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{x_label}</text>']
        for i in range(5):
            y = self.y(self.top * i / 4)
            self.parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y:.1f}" y2="{y:.1f}" stroke="#d1d5db"/>'
                              f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{short(self.top * i / 4)} '
                              f'{y_label}</text>')
        for i in range(0, n, max(1, n // 12)):
            self.parts.append(f'<text x="{self.x(i + 0.5):.1f}" y="{HEIGHT - BOTTOM + 15}" '
                              f'text-anchor="middle">{labels(i)}</text>')

    def x(self, i):
        return LEFT + i * (WIDTH - 10 - LEFT) / self.n

    def y(self, value):
        return HEIGHT - BOTTOM - value / self.top * (HEIGHT - BOTTOM - TOP)

    def bar(self, i, low, high, color):
        self.parts.append(f'<rect x="{self.x(i + 0.1):.1f}" width="{self.x(0.8) - LEFT:.1f}" y="{self.y(high):.1f}" '
                          f'height="{self.y(low) - self.y(high):.1f}" fill="{color}"/>')

    def line(self, values, color, dashed=False):
        """None: no value at this place."""
        runs, run = [], []
        for i, value in enumerate([*values, None]):
            if value is not None:
                run.append(f"{self.x(i + 0.5):.1f},{self.y(value):.1f}")
            elif run:
                runs, run = [*runs, run], []
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        for points in runs:
            self.parts.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{color}" '
                              f'stroke-width="1.5"{dash}/>')

    def mark(self, i, color):
        """A vertical line through the chart."""
        self.parts.append(f'<line x1="{self.x(i):.1f}" x2="{self.x(i):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" '
                          f'stroke="{color}" stroke-width="1"/>')

    def legend(self, colors):
        """`colors` by name."""
        for i, (name, color) in enumerate(colors.items()):
            x = LEFT + 130 * i
            self.parts.append(f'<rect x="{x}" y="26" width="10" height="10" fill="{color}"/>'
                              f'<text x="{x + 15}" y="35">{name}</text>')


def write_charts(charts, path):
    """All of them, one below the other."""
    with open(path, "w", encoding="utf-8") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT * len(charts)}" '
                'font-family="sans-serif" font-size="12">\n')
        for i, chart in enumerate(charts):
            f.write(f'<g transform="translate(0 {HEIGHT * i})">' + "\n".join(chart.parts) + "</g>\n")
        f.write("</svg>\n")
    print(path)
